#!/bin/sh
# Takes the place of `numalab grade` where what is looked at is the batch around it: sleeps
# NUMALAB_STAND_IN_S seconds (1), and writes a result that depends on the kernel's text alone.
# "stand-in: WORD" in a kernel makes it, for the WORD wrong: fail; kit-error: end with code 3;
# stuck: never end; silent: write nothing; open: leave its points open until it is told of two
# earlier gradings, and keep a record as a grading does. It starts no process but sleep (for open
# mkdir), so as to take hardly longer than that.
set -eu
lab=$1
earlier=0
shift
while [ $# -gt 0 ]; do
    case $1 in
        --submission) submission=$2; shift ;;
        --json) json=$2; shift ;;
        --html) html=$2; shift ;;
        --lang) language=$2; shift ;;
        --earlier) earlier=$((earlier + 1)); shift ;;
    esac
    shift
done
word=right
for file in "$submission/$lab/"*; do
    while read -r line || [ -n "$line" ]; do
        case $line in *"stand-in: "*) word=${line#*stand-in: } word=${word%% *} ;; esac
    done <"$file"
done
echo "grading $submission"
sleep "${NUMALAB_STAND_IN_S:-1}"
status=pass points=2 code=0
case $word in
    kit-error) echo "the kit is broken" >&2; exit 3 ;;
    stuck) sleep 3600 ;;
    silent) exit 0 ;;
    wrong) status=fail points=0 code=1 ;;
    open)
        [ "$earlier" -ge 2 ] || status=inconclusive points=0
        kept=$NUMALAB_BUILD/${NUMALAB_PRESET:-gnu}/results/$lab/c/submission
        mkdir -p "$kept"
        echo '{"runs": []}' >"$kept/evidence.json"
        ;;
esac
[ "$language" != all ] || language=c
read -r node </proc/sys/kernel/hostname
echo "{\"schema\": 1, \"interrupted\": false,
 \"node\": {\"name\": \"$node\", \"cpu_model\": \"stand-in\", \"packages\": 1, \"numa_nodes\": 1,
          \"cores\": 2, \"pus\": 2},
 \"results\": [{\"lab\": \"$lab\", \"language\": \"$language\", \"variant\": \"submission\",
   \"status\": \"$status\", \"points\": $points, \"max_points\": 2, \"ungraded_points\": 0,
   \"criteria\": [{\"name\": \"correct\", \"kind\": \"correctness\", \"status\": \"$status\",
     \"value\": 0.0, \"at_most\": 0.0, \"unit\": \"\", \"points\": $points, \"max_points\": 2,
     \"where\": \"here\", \"why\": \"stand-in\"}]}]}" >"$json"
echo "<p>$status</p>" >"$html"
exit $code
