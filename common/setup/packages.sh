# Says what is missing in the words of this system, and installs it with apt where that can be
# done. Sourced by ./numalab, after system.sh and checks.sh.

# Sets missing_needed and missing_optional to what is not there, by the names of packages.tsv, each
# with a blank after it, and found likewise.
look() {
    missing_needed='' missing_optional='' found='' column=apt
    find_c_compiler
    find_pkg_config_path
    each_row look_for
}

look_for() {
    if is_there "$need"; then
        found="$found$need "
    elif [ "$kind" = needed ]; then
        missing_needed="$missing_needed$need "
    else
        missing_optional="$missing_optional$need "
    fi
}

# ---- in words ----------------------------------------------------------------------

tell() { printf '%s\n' "$*" >&2; }

# Why something that is there won't do, or nothing.
amiss() {
    case $1 in
        gcc)
            has_command "$c_compiler" &&
                printf ' (found %s)' "$("$c_compiler" -dumpfullversion)" ;;
        cmake) cmake --version | { read -r line && printf ' (found %s)' "$line"; } ;;
        hwloc)
            version=$(PKG_CONFIG_PATH=$pkg_config_path pkg-config --modversion hwloc) &&
                printf ' (found %s)' "$version" ;;
        python)
            version=$(python3 -c 'import platform; print(platform.python_version())') &&
                printf ' (found %s)' "$version" ;;
        mpich)
            for file in /usr/lib64/mpich/bin/mpicc /usr/lib64/mpi/gcc/mpich/bin/mpicc; do
                [ -e "$file" ] && printf ' (is in %s, not loaded)' "${file%/bin/*}" && return 0
            done
            has_command mpicc && printf " (the mpicc here is not MPICH's, or lacks its header)" ;;
    esac 2>/dev/null
    return 0
}

tell_row() {
    case " $wanted" in *" $need "*) ;; *) return 0 ;; esac
    words=$packages
    [ "$packages" != - ] || words="no package of this system"
    words="  $what$(amiss "$need" || :): $words"
    [ "$without_it" = - ] || words="$words
      without it $without_it"
    tell "$words"
}

tell_rows() { wanted=$1 each_row tell_row; }

# Of each package manager that a user may have, a line that brings what is missing. An
# environment of conda has to bring everything, so it is named where nothing works yet.
tell_ways_without_root() {
    modules=$(packages_for modules "$missing_needed$missing_optional")
    [ -z "$modules" ] || tell "  modules, under names such as these (module avail tells yours):
    module load $modules"
    [ -z "$missing_needed" ] || tell "  conda, which a user can install:
    $(conda_program) create -n numalab -c conda-forge $(packages_for conda all)
    $(conda_program) activate numalab"
    lacking=$(packages_for spack "$missing_needed$missing_optional")
    tell "  Spack:
    spack install $lacking
    spack load $lacking"
}

conda_program() {
    for program in micromamba mamba conda; do
        has_command "$program" && break
    done || program=micromamba
    printf '%s' "$program"
}

# All that is missing, what it costs, and how it is had.
tell_missing() {
    column=$system
    if [ "$system" = unknown ]; then
        column=apt system_name="$system_name (packages: Debian's names)"
    fi
    say "on $system_name, found: $found"
    if [ -n "$missing_needed" ]; then
        say "missing, and nothing works without:"
        tell_rows "$missing_needed"
    fi
    if [ -n "$missing_optional" ]; then
        say "missing, and the rest works without:"
        tell_rows "$missing_optional"
    fi
    packages=$(packages_for "$column" "$missing_needed$missing_optional")
    install=$(installer)
    if [ -n "$packages" ] && [ -n "$install" ]; then
        say "an administrator installs that with:"
        tell "  sudo $install $packages"
        hints >&2
    fi
    say "without root, one of (README.md, On a cluster without root):"
    tell_ways_without_root
    say "then again: ./numalab setup"
}

# ---- apt ---------------------------------------------------------------------------

as_root() {
    if [ "$(id -u)" = 0 ]; then "$@"; else sudo "$@"; fi
}

# Where nobody can type a password, sudo has to need none.
can_install() {
    has_command apt-get || return 1
    [ "$(id -u)" = 0 ] && return 0
    has_command sudo || return 1
    { [ -t 0 ] && [ -t 2 ]; } || sudo -n true >/dev/null 2>&1
}

agreed() {
    [ "$yes" = 1 ] && return 0
    [ -t 0 ] && [ -t 2 ] || return 0
    printf 'numalab: install these packages now? [Y/n] ' >&2
    read -r answer || return 1
    case $answer in '' | [Yy]*) return 0 ;; *) return 1 ;; esac
}

# LLVM's packages have its version in their names: of those that this system offers the newest, 19
# if it can be had. Prints a package that is called "$1" in packages.tsv.
offered() {
    case $1 in
        *-19*) ;;
        *) printf '%s' "$1" && return ;;
    esac
    for version in 19 20 21 18 17; do
        name=${1%%-19*}-$version${1#*-19}
        if apt-cache show "$name" >/dev/null 2>&1; then
            printf '%s' "$name"
            return
        fi
    done
    printf '%s' "$1"
}

debian_packages() {
    for package in $(packages_for apt "$1"); do
        printf '%s ' "$(offered "$package")"
    done
}

# Without the optional ones a cluster still grades: what can't be had of them is said once, and
# asked for again by set-up only.
go_on_without() {
    [ -z "$missing_needed" ] || die "$1"
    say "$1; going on without: $missing_optional"
    [ ! -d "$venv" ] || printf '%s\n' "$missing_optional" 2>/dev/null >"$venv/without" || :
}

is_done_without() {
    [ -z "$missing_needed" ] && [ "$command" != setup ] && [ -f "$venv/without" ] &&
        [ "$missing_optional" = "$(cat "$venv/without")" ]
}

install_with_apt() {
    say "missing: $(packages_for apt "$missing_needed$missing_optional")"
    agreed || {
        go_on_without "nothing was installed. Install them yourself, or run ./numalab setup --yes"
        return 0
    }
    log=$(mktemp)
    say "fetching package lists"
    as_root env DEBIAN_FRONTEND=noninteractive apt-get update >"$log" 2>&1 ||
        say "apt-get update had errors; going on: $(tail -n 1 "$log")"
    packages=$(debian_packages "$missing_needed$missing_optional")
    say "installing: $packages"
    # The list is words by design.
    # shellcheck disable=SC2086
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends \
        $packages >"$log" 2>&1 || {
        tail -n 15 "$log" >&2
        go_on_without "apt-get could not install these packages; its last words are above"
    }
    rm -f "$log"
}

# What was installed may not be what is found first, on PATH or by pkg-config.
look_again() {
    look
    hiding='' ways=''
    for need in $missing_needed; do
        case $need in
            cmake) program=cmake ;;
            gcc) program=$c_compiler ;;
            hwloc)
                folder=$(PKG_CONFIG_PATH=$pkg_config_path pkg-config --variable=pcfiledir hwloc \
                    2>/dev/null) || continue
                hiding="$hiding$need "
                ways="$ways PKG_CONFIG_PATH=\$(pkg-config --variable pc_path pkg-config)"
                say "$folder/hwloc.pc comes first, and is still too old:"
                continue ;;
            *) continue ;;
        esac
        has_command "$program" || continue
        hiding="$hiding$need "
        ways="${ways%" PATH=/usr/bin:\$PATH"} PATH=/usr/bin:\$PATH"
        say "$(command -v "$program") comes first on PATH, and is still too old:"
    done
    [ -n "$hiding" ] || return 0
    tell_rows "$hiding"
    die "put the folder of a newer one first, such as:$ways ./numalab setup"
}

install_packages() {
    look
    [ -n "$missing_needed$missing_optional" ] || return 0
    if can_install; then
        is_done_without || { install_with_apt && look_again; }
        return 0
    fi
    [ -n "$missing_needed" ] || [ "$command" = setup ] || return 0
    find_system
    if [ "$system" = musl ]; then
        [ -z "$missing_needed" ] || die "$system_name has the C library musl. The kit is made for
glibc: use another system, or a container of one, such as Debian's."
        system=unknown
    fi
    tell_missing
    [ -z "$missing_needed" ] || exit 3
}

# For ./numalab setup --packages [SYSTEM].
print_all_packages() {
    find_system
    [ "$system" != musl ] && [ "$system" != unknown ] || system=apt
    column=${1:-$system}
    case $column in
        apt) debian_packages all ;;
        dnf | el | zypper | pacman | conda | spack) packages_for "$column" all ;;
        *) say "--packages knows apt, dnf (Fedora), el (RHEL and relatives), zypper, pacman, conda
and spack, not $column" && exit 2 ;;
    esac
    echo
}
