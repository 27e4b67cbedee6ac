"""A local pseudopotential of a proton, -2 erf(r / rc) / r Ry, as UPF on stdout.

SPDX-License-Identifier: Apache-2.0
"""
import math
mesh, rmin, dx, rc = 601, 1e-5, 0.0245, 0.6
r = [rmin * math.exp(i * dx) for i in range(mesh)]
def block(name, values, more=""):
    print('<%s type="real" size="%d" columns="4"%s>' % (name, len(values), more))
    for i in range(0, len(values), 4):
        print(" ".join("%.12E" % v for v in values[i:i + 4]))
    print("</%s>" % name)
print('<UPF version="2.0.1">\n<PP_INFO>\na local ion\n</PP_INFO>')
print('<PP_HEADER generated="" author="" date="" comment="" element="H" pseudo_type="NC" relativistic="no" is_ultrasoft="F" is_paw="F" is_coulomb="F" has_so="F" has_wfc="F" has_gipaw="F" paw_as_gipaw="F" core_correction="F" functional="SLA PZ NOGX NOGC" z_valence="1.0" total_psenergy="-0.9" wfc_cutoff="20.0" rho_cutoff="80.0" l_max="0" l_max_rho="0" l_local="0" mesh_size="%d" number_of_wfc="1" number_of_proj="0"/>' % mesh)
print('<PP_MESH dx="%g" mesh="%d" xmin="%.8f" rmax="%.8f" zmesh="1.0">' % (dx, mesh, math.log(rmin), r[-1]))
block("PP_R", r)
block("PP_RAB", [dx * x for x in r])
print("</PP_MESH>")
block("PP_LOCAL", [-2 * math.erf(x / rc) / x for x in r])
print("<PP_NONLOCAL>\n</PP_NONLOCAL>\n<PP_PSWFC>")
wave = [2 * x * math.exp(-x) for x in r]
block("PP_CHI.1", wave, ' index="1" label="1S" l="0" occupation="1.0" n="1" pseudo_energy="-0.9"')
print("</PP_PSWFC>")
block("PP_RHOATOM", [w * w for w in wave])
print("</UPF>")
