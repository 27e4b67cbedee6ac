/* embed.S - scripts and style of the page, put into the program
 *
 * SPDX-License-Identifier: Apache-2.0
 */
    .section .rodata
    .global page_script
    .global page_script_end
    .global page_style
    .global page_style_end
page_script:
    .incbin PAGE_SCRIPT
page_script_end:
    .byte 0
page_style:
    .incbin PAGE_STYLE
page_style_end:
    .byte 0
    .section .note.GNU-stack, "", %progbits
