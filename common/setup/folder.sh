# Faults of numalab's own folder, looked for before anything else is done. Sourced by ./numalab.
#
# A fault is a function that succeeds where it is there, and sets amiss to what is said then: in a
# sentence what is amiss, and a command or another way on. It takes a millisecond, or looks only
# where thorough is 1, and needs no program that a bare system may be without.

# In this order; the first that is there is told.
folder_faults='has_unusable_path belongs_to_others is_from_the_future runs_no_programs'

look_at_folder() {
    for fault in $folder_faults; do
        if "$fault"; then die "$amiss"; fi
    done
}

# CMake and Ninja have meanings of their own for these characters, Python's environments for the
# colon.
has_unusable_path() {
    line_end='
'
    real=$(real_root && echo .)
    real=${real%??}
    case $real in
        *[][\$\;\#\"\\\|\<\>:"$line_end$(printf '\r')"]*) ;;
        *) return 1 ;;
    esac
    amiss="nothing can be built in $real: its path has one of the characters
[ ] \$ ; # \" \\ | < > : or a line end. Rename that folder, or move numalab to another one."
}

# After a sudo, say: in a clone that is the user's, and in her home. In a clone of somebody else's
# the build says where it can be instead. Looked at some folders deep: whatever writes below writes
# there, too.
belongs_to_others() {
    theirs='' owned=$NUMALAB_ROOT
    [ ! -O "$owned" ] || theirs=$(first_of_others "$owned"/.venv* "$owned/.venv"/* \
        "$owned/build" "$owned/build"/* "$owned/build"/*/* "$owned/build"/*/.ninja* \
        "$owned/build"/*/results/* "$owned/build"/*/submissions/* \
        "$owned/build"/*/submissions/*/*)
    for folder in "${XDG_CACHE_HOME:-${HOME:-}/.cache}" "${XDG_STATE_HOME:-${HOME:-}/.local/state}"; do
        [ -z "$theirs" ] && [ -O "${HOME:-}" ] || break
        owned=$folder/numalab
        theirs=$(first_of_others "$owned" "$owned"/* "$owned"/.host-*)
    done
    [ -n "$theirs" ] || return 1
    # Names of users have no blanks.
    owner=$(ls -ld -- "$theirs" 2>/dev/null | { read -r _ _ name _ && printf '%s' "$name"; }) || :
    amiss="$theirs belongs to ${owner:-somebody else}, and you may not write there,
as after a sudo ./numalab. Take it back, and call numalab without sudo:
  sudo chown -R \"\$(id -un)\" $(quoted "$owned")"
}

# Prints the first of these that somebody else owns, and that this user may not write.
first_of_others() {
    for path in "$@"; do
        if [ -e "$path" ] && [ ! -L "$path" ] && [ ! -O "$path" ] && [ ! -w "$path" ]; then
            printf '%s' "$path"
            return
        fi
    done
}

# Files that CMake and compilers read, beside those that somebody edits: Ninja takes a build to be
# older than them, however often it is made again.
is_from_the_future() {
    newest=$(find_newer /proc/self) && [ -n "$newest" ] || return 1
    # By the file server's clock, and not saved just now.
    now=$NUMALAB_ROOT/.now.$$
    sleep 2
    if (: >"$now") 2>/dev/null; then
        newest=$(find_newer "$now")
        rm -f "$now"
    else
        newest=$(find_newer /proc/self)
    fi
    [ -n "$newest" ] || return 1
    amiss="$newest was changed in the future, by this machine's clock: it is $(date) now.
Set the clock, or else the files' times:
  find $(quoted "$NUMALAB_ROOT") -newermt now -exec touch {} +"
}

# Prints the first of these files that is newer than the file $1.
find_newer() (
    cd "$NUMALAB_ROOT" || exit
    for file in CMakeLists.txt CMakePresets.json common/* common/*/* common/*/*/* \
        labs/*/grading/* labs/*/*.[ch]; do
        case $file in */kernel.c) continue ;; esac
        if [ "$file" -nt "$1" ]; then
            printf '%s' "$file"
            exit
        fi
    done
)

runs_no_programs() {
    [ "$thorough" = 1 ] && [ -w "$NUMALAB_ROOT" ] && has_command chmod || return 1
    program=$NUMALAB_ROOT/.runs.$$
    printf '#!/bin/sh\n' 2>/dev/null >"$program" || return 1 # a full disk, which is told later
    lacking=''
    if ! { chmod 700 "$program" && "$program"; } 2>/dev/null; then
        lacking="programs can't be run in $NUMALAB_ROOT: its file system has no execute permissions, or
is mounted noexec"
    elif has_command ln && ! ln -s "$program" "$program.link" 2>/dev/null; then
        lacking="Python can't be installed in $NUMALAB_ROOT: its file system has no symbolic links"
    fi
    rm -f "$program" "$program.link"
    [ -n "$lacking" ] || return 1
    amiss="$lacking, as folders of Windows and memory sticks are. Clone numalab into your
home folder on this machine instead (cd ~; in WSL2 that is inside Linux)."
}

# As one word of a shell's command.
quoted() { printf "'%s'" "$(printf '%s' "$1" | sed "s/'/'\\\\''/g")"; }
