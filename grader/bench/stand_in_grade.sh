#!/bin/sh
# Takes the place of `numalab grade` where what is looked at is the batch around it: sleeps
# NUMALAB_STAND_IN_S seconds (1), and writes a result that depends on the kernel's text alone.
# "stand-in: WORD" in a kernel makes it, for the WORD wrong: fail; kit-error: end with code 3;
# stuck: never end; silent: write nothing.
set -eu
lab=$1
shift
while [ $# -gt 0 ]; do
    case $1 in
        --submission) submission=$2; shift ;;
        --json) json=$2; shift ;;
        --html) html=$2; shift ;;
        --lang) language=$2; shift ;;
    esac
    shift
done
has() { grep -qs "stand-in: $1" "$submission/$lab/"*; }
echo "grading $submission"
sleep "${NUMALAB_STAND_IN_S:-1}"
status=pass points=2 code=0
if has kit-error; then echo "the kit is broken" >&2; exit 3; fi
if has stuck; then sleep 3600; fi
if has silent; then exit 0; fi
if has wrong; then status=fail points=0 code=1; fi
[ "$language" != all ] || language=c
cat >"$json" <<END
{"schema": 1, "interrupted": false,
 "node": {"name": "$(uname -n)", "cpu_model": "stand-in", "packages": 1, "numa_nodes": 1,
          "cores": 2, "pus": 2},
 "results": [{"lab": "$lab", "language": "$language", "variant": "submission",
   "status": "$status", "points": $points, "max_points": 2, "ungraded_points": 0,
   "criteria": [{"name": "correct", "kind": "correctness", "status": "$status", "value": 0.0,
     "at_most": 0.0, "unit": "", "points": $points, "max_points": 2, "where": "here",
     "why": "stand-in"}]}]}
END
echo "<p>$status</p>" >"$html"
exit $code
