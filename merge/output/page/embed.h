/* embed.h - scripts and style of the page, as they are in the program
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#ifndef CK_MERGE_OUTPUT_PAGE_EMBED_H
#define CK_MERGE_OUTPUT_PAGE_EMBED_H

/* From the first byte to the one behind the last. */
extern const char page_script[], page_script_end[];
extern const char page_style[], page_style_end[];

#endif
