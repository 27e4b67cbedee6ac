/* mockhip.c - has the name of AMD's HIP runtime
 *
 * SPDX-License-Identifier: Apache-2.0
 */
__attribute__((visibility("default"))) int hipGetDeviceCount(int *count);

int hipGetDeviceCount(int *count)
{
    *count = 0;
    return 0;
}
