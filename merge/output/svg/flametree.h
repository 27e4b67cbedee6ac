/* flametree.h - the frames of a flame graph, before they are drawn
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * Paths of frames, the outermost first, are put into a tree: equal frames
 * around equal frames are one, as wide as all paths through it together.
 */
#ifndef CK_MERGE_OUTPUT_SVG_FLAMETREE_H
#define CK_MERGE_OUTPUT_SVG_FLAMETREE_H

#include <stddef.h>
#include <stdint.h>

struct flamenode {
    char *name;
    uint32_t above; /* whose child it is; the root's own is 0 */
    uint32_t depth;
    int64_t amount; /* with what is in it: ns, samples */
    int64_t change; /* its own, without what is in it */
    double from;    /* of the panel's width, 0..1 */
    int64_t used;
};

/* A child is behind the one it is in, the root first. */
struct flametree {
    struct flamenode *nodes;
    size_t count, room;
    struct table *children; /* node, hash of a name: its number less 1 */
    uint32_t at;
    int64_t amount; /* of the path that is put in */
    uint32_t deepest;
};

/* With a root of nothing. */
void flametree_init(struct flametree *tree);
void flametree_fini(struct flametree *tree);

/* A path of that amount begins; then each of its frames (a flames_frame_f, of a
 * tree); those beyond a depth are left out. */
void flametree_path(struct flametree *tree, int64_t amount);
void flametree_frame(void *tree, const char *name);
/* The path's last frame changed by so much. */
void flametree_change(struct flametree *tree, int64_t change);

/* Where each frame begins: siblings side by side, by name. Afterwards no path
 * can be put in. */
void flametree_place(struct flametree *tree);
/* The largest own change, up or down. */
int64_t flametree_most(const struct flametree *tree);

#endif
