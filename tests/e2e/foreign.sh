#!/usr/bin/env bash
# foreign.sh - recording memory and run directories of another user are not
# believed
#
# SPDX-License-Identifier: Apache-2.0
#
# Another user makes /dev/shm/ck-0 and /tmp/ck-0 first, of each kind, and puts
# the ring of a killed agent there, which names a run directory. Root's next
# program runs as ever, is recorded, logs in one line why its memory is
# elsewhere, and nothing of the ring is read or written. /dev/shm is a new one
# in a mount namespace. CK_FOREIGN_RUNS times each kind (1; in full 50).
. "$(dirname "$0")/lib.sh"
need setpriv util-linux
need unshare util-linux
[ "$(id -u)" = 0 ] || skip "only root can be two users"
if [ -z "${CK_FOREIGN:-}" ]; then
    unshare -m true 2>/dev/null || skip "no mount namespace is permitted"
    CK_FOREIGN=1 unshare -m bash "$0"
    exit
fi
unset CK_TEST_RINGS # the usual places
discard "$rings"
mount -t tmpfs -o size=256m,mode=1777 tmpfs /dev/shm 2>/dev/null ||
    skip "mounting is not permitted"
stranger=64321
chmod 711 "$work"
export TMPDIR=$work/tmp
mkdir -m 1777 "$TMPDIR" && chmod 1777 "$TMPDIR"
many='[1-5]?[0-9]' # files beside the one that is named, of 59
kept=$work/kept
target=$work/target
mkdir -m 700 "$kept" "$target"
as_stranger() { setpriv --reuid=$stranger --regid=$stranger --clear-groups "$@"; }

# A ring as a killed agent leaves it, that names $target.
"$bin/ckagent" --report none --dir "$target" -- sleep 300 >"$work/out" 2>&1 &
front=$!
for _ in $(seq 3000); do
    ls "$target"/seg-*.ck >/dev/null 2>&1 && break
    sleep 0.05
done
ring=$(ls /dev/shm/ck-0/*.ring) || fail "no ring was made"
stopped=$(pgrep -P $front)
kill -9 $front $(for pid in $stopped; do pgrep -P "$pid" || :; done) $stopped
wait $front 2>/dev/null || :
mv "$ring" "$kept/"
ring=$kept/${ring##*/}
discard /dev/shm/ck-0 "$target"
mkdir -m 700 "$target"

# plant KIND DIR: what the stranger makes of DIR.
plant() {
    local kind=$1 dir=$2 file=$2/${ring##*/}
    case $kind in
    link)
        as_stranger mkdir -m 777 "$dir.away"
        as_stranger ln -s "$dir.away" "$dir"
        file=$dir.away/${ring##*/} ;;
    link-to-own)
        mkdir -m 700 "$dir.away"
        as_stranger ln -s "$dir.away" "$dir"
        file=$dir.away/${ring##*/} ;;
    link-loop) as_stranger ln -s "$dir" "$dir" && return ;;
    link-dangling) as_stranger ln -s "$dir.away" "$dir" && return ;;
    socket)
        as_stranger /usr/bin/python3 -c 'import socket, sys
socket.socket(socket.AF_UNIX).bind(sys.argv[1])' "$dir" && return ;;
    file) as_stranger touch "$dir" && return ;;
    fifo) as_stranger mkfifo -m 666 "$dir" && return ;;
    own-open) mkdir "$dir" && chmod 777 "$dir" ;;
    own-*) mkdir -m 700 "$dir" ;;
    *) as_stranger mkdir "$dir" && as_stranger chmod "$kind" "$dir" ;;
    esac
    case $kind in
    own-link)
        cp "$ring" "$work/linked.ring" && chown $stranger "$work/linked.ring"
        ln -s "$work/linked.ring" "$file" ;;
    own-fifo) mkfifo -m 600 "$file" ;;
    own-dir) mkdir -m 700 "$file" && cp "$ring" "$file/" ;;
    own-hard)
        [ -e "$dir.hard" ] || install -m 600 "$ring" "$dir.hard"
        ln "$dir.hard" "$file" ;;
    own-short)
        head -c 3000 "$ring" >"$file" && chmod 600 "$file"
        chown $stranger:$stranger "$file" ;;
    own-many)
        for i in $(seq 30); do
            cp --sparse=always "$ring" "$dir/$i.ring"
            chown $stranger:$stranger "$dir/$i.ring"
        done ;;
    *)
        cp --sparse=always "$ring" "$file"
        [ "$kind" = own-loose ] || chown $stranger:$stranger "$file"
        chmod 666 "$file" ;;
    esac
}

# trial KIND: in both places; the program runs and is recorded.
trial() {
    local kind=$1 dir said run=$work/run-$1 status=0
    for dir in /dev/shm/ck-0 "$TMPDIR/ck-0"; do
        plant "$kind" "$dir"
    done
    # A file that is shortened while it is read is a SIGBUS to its reader.
    setpriv --reuid=$stranger --regid=$stranger --clear-groups sh -c 'n=0
        while [ $((n += 1)) -lt 100 ]; do
            truncate -s 8192 /dev/shm/ck-0/*.ring; sleep 0.02
        done' >/dev/null 2>&1 &
    said=$!
    timeout 300 "$bin/ckagent" --report none --dir "$run" -- sh -c 'echo hello' \
        >"$work/out" 2>"$work/err" || status=$?
    kill $said 2>/dev/null && wait $said 2>/dev/null || :
    same "$kind: status" 0 $status
    same "$kind: output" hello "$(cat "$work/out")"
    wait_done "$run"
    same "$kind: recorded" 1 "$(json "$run/manifest.json" 'j["ranks"]')"
    same "$kind: written to the run that the ring names" "" "$(ls -A "$target")"
    case $kind in
    own-[!o]* | own-other) ;;
    *) said=$(grep -c "/ck-0 \(belongs to another user\|is \(a symbolic link\|not a directory\|open to others\)\).*: recording memory is in /dev/shm/ck-0-" "$work/err" || :)
        same "$kind: lines that say why" 1 "$said" ;;
    esac
    # However many there are, the program's user gets one line about them. They
    # are looked at for a second at most: not enough for all on a busy machine.
    said=$(grep -c 'could not be recovered\|lines left out' "$work/err" || :)
    [ "$said" -le 1 ] || fail "$kind: $(cat "$work/err")"
    [ $kind != own-many ] ||
        grep -qE " and $many more files, left by killed agents," "$work/err" ||
        fail "$kind: not of more files: $(cat "$work/err")"
    ! grep -q 'has no room' "$work/err" || fail "$kind: $(cat "$work/err")"
    ! ls -d /dev/shm/ck-0-* 2>/dev/null || fail "$kind: that directory stays"
    # ckmerge and --clean look for rings as well.
    "$bin/ckmerge" --quiet --output text="$work/text" "$target" \
        >"$work/merged" 2>&1 || :
    ! grep -q 'could not be recovered' "$work/merged" ||
        fail "$kind: a merge of another run: $(cat "$work/merged")"
    "$bin/ckagent" --clean >"$work/cleaned" 2>&1 || :
    same "$kind: written after --clean" "" "$(ls -A "$target")"
    discard /dev/shm/ck-0* "$TMPDIR"/ck-0* "$work/linked.ring"
}

for ((turn = 0; turn < ${CK_FOREIGN_RUNS:-1}; turn++)); do
    for kind in 700 755 777 1777 link link-to-own link-loop link-dangling file \
        fifo socket own-open own-loose own-link own-hard own-fifo own-dir \
        own-short own-many own-other; do
        trial $kind
        discard "$work/run-$kind"
    done
done

# The place where agents meet is the stranger's: the ranks are one run all the
# same, and nothing is made there.
meet() {
    local run=$work/met taken=$TMPDIR/taken
    as_stranger mkdir "$taken" && as_stranger chmod "$1" "$taken"
    mkdir -p -m 700 /tmp/ck-0
    mount --bind "$taken" /tmp/ck-0
    (
        unset XDG_RUNTIME_DIR
        timeout 300 mpirun -n 3 "$bin/ckagent" --report none --dir "$run" -- \
            echo hello >"$work/out" 2>"$work/err"
    ) || fail "agents that meet elsewhere: $(cat "$work/err")"
    wait_done "$run"
    same "meet $1: output" 3 "$(grep -cx hello "$work/out")"
    same "meet $1: ranks in one run" 3 "$(json "$run/manifest.json" 'j["ranks"]')"
    same "meet $1: lines that say where" 1 "$(grep -c '/ck-0 belongs to another user.*: the agents of this user meet in /tmp/ck-meet-0-' "$work/err")"
    same "meet $1: made there" "" "$(ls -A "$taken")"
    umount /tmp/ck-0
    discard "$run" "$taken"
}
if command -v mpirun >/dev/null; then
    for ((turn = 0; turn < ${CK_FOREIGN_RUNS:-1}; turn++)); do
        meet 777
        meet 700
    done
fi
