# ctest.sh - tests run by ctest and counted; a failure gets a second look
# shellcheck shell=bash
#
# SPDX-License-Identifier: Apache-2.0
#
# To be sourced. Tests of real processes and clocks on a machine that others use
# fail now and then for a reason that is not in the change. So where few tests
# of a run failed they run once more, alone. One that passes then counts as
# passed and is listed as unsteady: it is a defect to look into, of the test or
# of ck, but it does not hide what all others found. One that fails twice, and
# each of many, has failed.

# More failures than this are no accident.
CTEST_SECOND_LOOK_MAX=3
passed=0
failed=0
skipped=0
left_out=()
unsteady=()
failing=()

# Attribute $2 of the <testsuite> element in the JUnit file $1.
suite_count() {
    sed -n "s/^[[:space:]]*$2=\"\([0-9]*\)\".*/\1/p" "$1" | head -n 1
}

# Names of the tests that failed in the last run in folder $1.
failed_names() {
    sed 's/^[0-9]*://' "$1/Testing/Temporary/LastTestsFailed.log" 2>/dev/null
}

# ctest_in FOLDER RESULT LOG OPTION...: its lines, to the log too; RESULT is the
# name of the JUnit file in FOLDER.
ctest_in() {
    local folder=$1 result=$2 log=$3
    shift 3
    rm -f "$folder/$result" "$folder/Testing/Temporary/LastTestsFailed.log"
    (cd "$folder" && ctest --output-on-failure --no-tests=error --timeout 600 \
        --output-junit "$folder/$result" "$@" 2>&1) | tee -a "$log"
}

# second_look FOLDER LOG NAME...: each runs again, alone.
second_look() {
    local folder=$1 log=$2 again=$1/ctest-again.xml name
    shift 2
    for name; do
        echo "Once more, alone: $name"
        ctest_in "$folder" ctest-again.xml "$log" -R "^${name//./\\.}\$"
        if [ "$(suite_count "$again" tests)" = 1 ] &&
            [ "$(suite_count "$again" failures)" = 0 ] &&
            [ "$(suite_count "$again" skipped)" = 0 ]; then
            passed=$((passed + 1))
            unsteady+=("$name")
        else
            failed=$((failed + 1))
            failing+=("ctest --test-dir $folder -R '^$name\$'\
 --output-on-failure")
        fi
    done
}

# "NAME: reason" of each test that the JUnit file $1 has as skipped. The reason is
# the line that begins so, or its last one.
skipped_reasons() {
    awk -F '"' '
        /^\t<testcase / {
            name = / status="notrun">/ ? $2 : ""
            reason = "no reason given"
            is_said = 0
        }
        sub(/^\t\t<system-out>/, "") { is_text = 1 }
        sub(/<\/system-out>/, "") { is_end = 1 }
        is_text && name != "" && !is_said && /[^ ]/ {
            reason = $0
            is_said = sub(/^.*[Ss][Kk][Ii][Pp][Pp][Ee][Dd]: */, "", reason)
        }
        is_end && name != "" { print name ": " reason }
        is_end { is_text = is_end = 0; name = "" }
    ' "$1" | sed 's/&lt;/</g; s/&gt;/>/g; s/&quot;/"/g; s/&apos;/'"'"'/g; s/&amp;/\&/g'
}

# run_tests FOLDER LOG CTEST-OPTION...: shows ctest's lines, adds its counts.
run_tests() {
    local folder=$1 log=$2 all bad out names
    shift 2
    ctest_in "$folder" ctest.xml "$log" "$@"
    all=$(suite_count "$folder/ctest.xml" tests 2>/dev/null)
    if [ "${all:-0}" = 0 ]; then
        echo "ctest in $folder ran no test" >&2
        failed=$((failed + 1))
        return
    fi
    bad=$(suite_count "$folder/ctest.xml" failures)
    out=$(suite_count "$folder/ctest.xml" skipped)
    passed=$((passed + all - bad - out))
    skipped=$((skipped + out))
    mapfile -t -O "${#left_out[@]}" left_out < <(skipped_reasons \
        "$folder/ctest.xml")
    mapfile -t names < <(failed_names "$folder")
    if [ "$bad" = "${#names[@]}" ] && [ "$bad" -le "$CTEST_SECOND_LOOK_MAX" ]; then
        second_look "$folder" "$log" "${names[@]}"
        return
    fi
    failed=$((failed + bad))
    failing+=("ctest --test-dir $folder --rerun-failed --output-on-failure")
}

# The closing lines; status 1 where something failed.
counts_print() {
    local line
    for line in "${left_out[@]}"; do
        echo "skipped: $line"
    done
    for line in "${unsteady[@]}"; do
        echo "unsteady: $line failed once and passed alone; its first output is\
 above: look into it"
    done
    for line in "${failing[@]}"; do
        echo "failed; again by: $line"
    done
    echo "$passed passed, $failed failed, $skipped skipped"
    [ "$failed" = 0 ]
}
