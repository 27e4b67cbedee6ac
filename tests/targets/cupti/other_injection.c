/* other_injection.c - another tool that CUDA's driver loads in place of ck
 *
 * SPDX-License-Identifier: Apache-2.0
 */
__attribute__((visibility("default"))) int InitializeInjection(void);

__attribute__((visibility("default"))) int InitializeInjection(void)
{
    return 1;
}
