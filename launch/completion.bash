# completion.bash - bash completion of all ck programs
# SPDX-License-Identifier: Apache-2.0
#
# The programs say themselves what they take (--print-options: name, type and
# argument or the words it may be, parted by tabs), so this never goes out of
# date.

_ck_options() {
    "${COMP_WORDS[0]}" --print-options 2>/dev/null
}

# Complete the value of option $1.
_ck_value() {
    local current=$2 type argument
    IFS=$'\t' read -r _ type argument < <(
        _ck_options | grep -- "^$1"$'\t'
    )
    case $type:$argument in
    choice:* | *[[:lower:]]*\|*)
        mapfile -t COMPREPLY < <(compgen -W "${argument//|/ }" -- "$current")
        ;;
    text:*DIR* | list:*DIR*)
        mapfile -t COMPREPLY < <(compgen -d -- "$current")
        ;;
    flag:* | :)
        return 1
        ;;
    *)
        mapfile -t COMPREPLY < <(compgen -f -- "$current")
        ;;
    esac
}

_ck() {
    local current=${COMP_WORDS[COMP_CWORD]}
    local previous=${COMP_WORDS[COMP_CWORD - 1]}
    local i

    COMPREPLY=()
    # After "--" stands the command of the user.
    for ((i = 1; i < COMP_CWORD; i++)); do
        if [[ ${COMP_WORDS[i]} == -- ]]; then
            mapfile -t COMPREPLY < <(compgen -c -f -- "$current")
            return
        fi
    done
    # bash cuts --name=value at "=".
    if [[ $previous == "=" ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 2]}
    elif [[ $current == "=" ]]; then
        previous=${COMP_WORDS[COMP_CWORD - 1]}
        current=
    fi
    if [[ $previous == --* ]] && _ck_value "$previous" "$current"; then
        return
    fi
    if [[ $current == -* ]]; then
        mapfile -t COMPREPLY < <(
            compgen -W "$(_ck_options | cut -f 1)" -- "$current"
            [[ $current != --no* ]] || compgen -W "$(_ck_options |
                sed -n 's/^--\(.*\)\tflag\t.*/--no-\1/p' |
                grep -vxE -e '--no-(help|version)')" -- "$current"
        )
        return
    fi
    case $1$previous in
    *ckagent-? | *cklaunch-?) ;; # of a short option
    *ckagent* | *cklaunch*)
        mapfile -t COMPREPLY < <(compgen -c -f -- "$current")
        return
        ;;
    esac
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
}

complete -o filenames -F _ck ckagent ckagg ckmerge cklaunch
