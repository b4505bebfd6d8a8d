# Which system this is, and how its packages are called and installed. Sourced by ./numalab.
#
# system: the column of packages.tsv: apt, dnf (Fedora), el (RHEL and its relatives), zypper or
# pacman; musl, where the C library is not glibc; unknown. system_name: as the system calls itself.

# The system says who it is where no package manager does, as on a compute node.
find_system() {
    ID='' ID_LIKE='' PRETTY_NAME=''
    # Its values are quoted for a shell.
    # shellcheck disable=SC1090
    [ ! -r "${NUMALAB_OS_RELEASE:-/etc/os-release}" ] || . "${NUMALAB_OS_RELEASE:-/etc/os-release}"
    system_name=${PRETTY_NAME:-this system}
    for system in $ID $ID_LIKE; do
        case $system in
            debian | ubuntu) system=apt ;;
            rhel | centos | rocky | almalinux | ol) system=el ;;
            fedora) system=dnf ;;
            suse | opensuse* | sles | sled) system=zypper ;;
            arch | archlinux) system=pacman ;;
            alpine) system=musl ;;
            *) continue ;;
        esac
        return 0
    done
    for system in apt:apt-get dnf:dnf dnf:microdnf zypper:zypper pacman:pacman musl:apk; do
        if has_command "${system#*:}"; then
            system=${system%:*}
            return 0
        fi
    done
    system=unknown
}

# The command with which an administrator installs.
installer() {
    case $system in
        apt) printf 'apt-get install --no-install-recommends' ;;
        dnf) printf 'dnf install' ;;
        # A minimal image has only the small one.
        el) if has_command microdnf && ! has_command dnf; then printf 'microdnf install'
            else printf 'dnf install'; fi ;;
        zypper) printf 'zypper install' ;;
        pacman) printf 'pacman -S --needed' ;;
    esac
}

# What is to be said beside that command, a line each.
hints() {
    case $system in
        el) echo '(Headers and Ninja are in the repository CRB, on version 8 called powertools:
sudo dnf config-manager --set-enabled crb. QEMU with what virtual nodes need is not packaged there.
Where hwloc or gcc is too old: gcc-toolset, modules, conda or Spack.)' ;;
    esac
    case $system in
        dnf | el) echo '(MPICH is then used where it is loaded: module load mpi/mpich-x86_64)' ;;
        zypper) echo '(MPICH is then used where it is on the PATH: /usr/lib64/mpi/gcc/mpich/bin)' ;;
    esac
}

# Reads packages.tsv, a row each: calls "$@" with need, kind, what, without_it and the packages
# in the column $column, "-" where it has none. Not from standard input, which what is called may
# read.
each_row() {
    while IFS='	' read -r need kind what apt dnf el zypper pacman conda spack modules \
        without_it <&8; do
        case $need in '#'*) continue ;; esac
        eval "packages=\$$column"
        "$@"
    done 8<"$NUMALAB_ROOT/common/setup/packages.tsv"
}

# Prints the packages, in column $1, of the needs in $2; of all, where that is "all".
packages_for() {
    column=$1 wanted=" $2 " printed=' '
    each_row print_packages
}

print_packages() {
    case $wanted in *" $need "* | ' all ') ;; *) return 0 ;; esac
    for package in $packages; do
        # Some bring more than one thing.
        case $printed in *" $package "*) continue ;; esac
        [ "$package" = - ] || printf '%s ' "$package"
        printed="$printed$package "
    done
}
