# What is to be done once after an archive of numalab was unpacked, maybe over an earlier copy. Sourced
# by ./numalab. The archive has .unpacked, which is gone afterwards, and common/setup/gone.txt: files
# of earlier releases that this one has not, from the top of the folder.
#
# Files that students edit lie in grading/starting_code of their lab, since unpacking replaces what is
# there; grading/own_files.py brings up to date what nobody has edited.

# numalab's folder, without the last slash.
settle_what_was_unpacked() {
    top=$1
    [ -f "$top/.unpacked" ] && [ -w "$top" ] || return 0
    moved=0
    while IFS= read -r path; do
        [ -f "$top/$path" ] || continue
        mkdir -p "$top/earlier_release/${path%/*}"
        mv -f "$top/$path" "$top/earlier_release/$path" && moved=$((moved + 1))
        rmdir "$top/${path%/*}" 2>/dev/null || : # if it is empty now
    done <"$top/common/setup/gone.txt"
    [ "$moved" = 0 ] || say "files of an earlier release ($moved) are now in
$top/earlier_release; remove it when you like"
    for given in "$top"/labs/*/grading/starting_code/*; do
        own=${given%/grading/starting_code/*}/${given##*/}
        [ -e "$own" ] || [ -L "$own" ] || [ ! -f "$given" ] || cp "$given" "$own"
    done
    # They have the times of the release, and what an earlier one was built to may be newer.
    find "$top"/CMake* "$top/common" "$top/labs" "$top/solutions" -type f ! -path '*/labs/*/kernel.*' \
        -exec touch {} + || :
    rm -f "$top/.unpacked"
}
