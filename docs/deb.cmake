# deb.cmake - Debian's copyright, changelog and compressed pages, by cpack
#
# SPDX-License-Identifier: Apache-2.0
if(NOT CPACK_GENERATOR STREQUAL "DEB")
  return()
endif()
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share)
set(doc ${root}/doc/${CPACK_PACKAGE_NAME})
file(MAKE_DIRECTORY ${doc})
file(WRITE ${doc}/copyright
"Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/
Upstream-Name: ck

Files: *
Copyright: (c) The ck authors
License: Apache-2.0
 See /usr/share/common-licenses/Apache-2.0.
")
# The day of the sources, so that two builds are the same.
file(TIMESTAMP ${CMAKE_CURRENT_LIST_DIR}/CHANGELOG.md day
  "%a, %d %b %Y 00:00:00 +0000" UTC)
file(WRITE ${doc}/changelog
"${CPACK_PACKAGE_NAME} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium

  * See /usr/share/doc/ck/docs/CHANGELOG.md.

 -- ${CPACK_PACKAGE_CONTACT}  ${day}
")
file(GLOB pages ${root}/man/man*/*)
execute_process(COMMAND gzip -9nf ${doc}/changelog ${pages}
  RESULT_VARIABLE failed)
if(failed)
  message(FATAL_ERROR "gzip: ${failed}")
endif()
# The text is in every Debian system; README's link holds.
file(REMOVE ${root}/doc/ck/LICENSE)
file(CREATE_LINK /usr/share/common-licenses/Apache-2.0 ${root}/doc/ck/LICENSE
  SYMBOLIC)
