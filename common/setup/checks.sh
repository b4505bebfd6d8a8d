# What of packages.tsv is there. Sourced by ./numalab.
#
# Headers and libraries are the system's, or lie where modules, conda or Spack say: in the folders
# of CPATH, C_INCLUDE_PATH, LIBRARY_PATH and LD_LIBRARY_PATH, and below those of CMAKE_PREFIX_PATH
# and CONDA_PREFIX. common/cmake/SiteFolders.cmake looks in the same ones.

has_command() { command -v "$1" >/dev/null 2>&1; }

# Whether the file $1 is in a folder of $2, which has colons between them, below it in $3.
in_folders() {
    rest=$2:
    while [ -n "$rest" ]; do
        folder=${rest%%:*}
        rest=${rest#*:}
        [ -n "$folder" ] && [ -e "$folder$3/$1" ] && return 0
    done
    return 1
}

site_prefixes=${CMAKE_PREFIX_PATH:-}:${CONDA_PREFIX:-}

# gcc, or what CC names where that is a gcc.
find_c_compiler() {
    c_compiler=gcc
    if [ -n "${CC:-}" ]; then
        case $("$CC" --version 2>/dev/null) in
            *'Free Software Foundation'*) c_compiler=$CC ;;
        esac
    fi
    # One that is no part of the system may look elsewhere than the system's.
    case $(command -v "$c_compiler") in /usr/bin/* | /bin/*) of_system=1 ;; *) of_system=0 ;; esac
}

has_gfortran() {
    has_command gfortran && return 0
    case $("${FC:-false}" --version 2>/dev/null) in *'Free Software Foundation'*) return 0 ;; esac
    return 1
}

has_header() {
    if ! has_command "$c_compiler" || [ "$of_system" = 1 ]; then
        [ -f "/usr/include/$1" ] && return 0
    fi
    in_folders "$1" "${CPATH:-}:${C_INCLUDE_PATH:-}" '' && return 0
    in_folders "$1" "$site_prefixes" /include && return 0
    has_command "$c_compiler" &&
        printf '#include <%s>\n' "$1" | "$c_compiler" -E -xc - >/dev/null 2>&1
}

has_library() {
    in_folders "$1" "${LIBRARY_PATH:-}:${LD_LIBRARY_PATH:-}" '' && return 0
    in_folders "$1" "$site_prefixes" /lib && return 0
    in_folders "$1" "$site_prefixes" /lib64 && return 0
    has_command "$c_compiler" && [ "$("$c_compiler" -print-file-name="$1")" != "$1" ]
}

has_libomp() {
    for folder in /usr/lib/llvm-*/lib; do
        [ -e "$folder/libomp.so" ] && return 0
    done
    has_library libomp.so
}

has_static_libc() {
    for file in /usr/lib/libc.a /usr/lib64/libc.a /usr/lib/*/libc.a; do
        [ "$of_system" = 1 ] && [ -e "$file" ] && return 0
    done
    has_library libc.a
}

# Where CMake has pkg-config look, beside its own folders.
find_pkg_config_path() {
    pkg_config_path=${PKG_CONFIG_PATH:-}
    rest=$site_prefixes:
    while [ -n "$rest" ]; do
        folder=${rest%%:*}
        rest=${rest#*:}
        [ -z "$folder" ] || for below in lib lib64 share; do
            pkg_config_path=$pkg_config_path:$folder/$below/pkgconfig
        done
    done
    rest=${CPATH:-}:${C_INCLUDE_PATH:-}:${LIBRARY_PATH:-}:${LD_LIBRARY_PATH:-}:
    while [ -n "$rest" ]; do
        folder=${rest%%:*}
        rest=${rest#*:}
        case $folder in
            */include | */lib | */lib64)
                for below in lib lib64 share; do
                    pkg_config_path=$pkg_config_path:${folder%/*}/$below/pkgconfig
                done ;;
        esac
    done
}

# A library by what pkg-config calls it, such as "hwloc >= 2.5"; its header, where there is no
# pkg-config to ask.
has_module() {
    has_command pkg-config || { has_header "$2"; return; }
    PKG_CONFIG_PATH=$pkg_config_path pkg-config --exists "$1" 2>/dev/null
}

# MPICH or a relative, whose launcher the kit knows, in the usual places or by its compiler.
has_mpich() {
    has_command mpiexec || return 1
    for file in /usr/include/*/mpich/mpi.h; do
        [ -e "$file" ] && return 0
    done
    for wrapper in ${MPICC:-} mpicc.mpich mpicc; do
        case $("$wrapper" -E -dM -include mpi.h -xc /dev/null 2>/dev/null) in
            *MPICH_VERSION*) return 0 ;;
        esac
    done
    return 1
}

# ThreadSanitizer's runtime, which may come apart from clang.
has_sanitizer() {
    for file in /usr/lib/llvm-*/lib/clang/*/lib/*/libclang_rt.tsan*.a; do
        [ -e "$file" ] && return 0
    done
    has_command clang || return 1
    for file in "$(clang -print-resource-dir 2>/dev/null)"/lib/*/libclang_rt.tsan*.a; do
        [ -e "$file" ] && return 0
    done
    return 1
}

# Prints how Python $1 can make a virtual environment: venv, virtualenv, or pip, which can be
# had into one that has been made without it. Fails where it can't, or is older than 3.11.
ways_of_python() {
    "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1 || return 1
    for modules in 'venv, ensurepip' virtualenv 'venv, pip'; do
        if "$1" -c "import $modules" >/dev/null 2>&1; then
            printf '%s' "${modules#venv, }"
            return 0
        fi
    done
    return 1
}

# Prints the first Python that will do, its way before it.
find_python() {
    for python in python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do
        if has_command "$python" && way=$(ways_of_python "$python"); then
            printf '%s %s' "$way" "$python"
            return 0
        fi
    done
    return 1
}

# Whether the version in $1, such as "gcc (GCC) 12.2.0", is less than $2.$3; not where it has none.
is_older() {
    for word in $1; do
        case $word in
            [0-9]*)
                major=${word%%.*}
                minor=${word#*.}
                minor=${minor%%[!0-9]*}
                [ "$major" -lt "$2" ] || { [ "$major" -eq "$2" ] && [ "${minor:-0}" -lt "$3" ]; }
                return ;;
        esac
    done 2>/dev/null
    return 1
}

# Versions are looked at by set-up alone: it takes longer than all else.
c_compiler_is_old() {
    [ "$thorough" = 1 ] && is_older "$("$c_compiler" -dumpfullversion 2>/dev/null)" 11 0
}
cmake_is_old() { [ "$thorough" = 1 ] && is_older "$(cmake --version 2>/dev/null)" 3 25; }

# Virtual nodes run this host's programs, and are made for its kind of processor. An image may do
# without them.
needs_no_virtual_nodes() { [ "${without_virtual_nodes:-0}" = 1 ] || [ "$(uname -m)" != x86_64 ]; }

# Whether what a row of packages.tsv calls $1 is there.
is_there() {
    case $1 in
        gcc) has_command "$c_compiler" && ! c_compiler_is_old ;;
        gfortran) has_gfortran ;;
        cmake) has_command cmake && ! cmake_is_old ;;
        ninja) has_command ninja ;;
        binutils) has_command addr2line && has_command objcopy && has_command ld ;;
        pkg-config) has_command pkg-config ;;
        libc) has_header stdlib.h ;;
        hwloc) has_module 'hwloc >= 2.5' hwloc.h ;;
        numa) has_header numa.h ;;
        jansson) has_module jansson jansson.h ;;
        libomp) has_libomp ;;
        # A virtual environment that is there has found its Python already.
        python) [ -x "$venv/bin/python" ] || find_python >/dev/null ;;
        numactl) has_command numactl ;;
        lstopo) has_command lstopo-no-graphics || has_command lstopo ;;
        mpich) has_mpich ;;
        clang) has_command clang-19 || has_command clang ;;
        sanitizer) has_sanitizer ;;
        bwrap) has_command bwrap ;;
        seccomp) has_header seccomp.h ;;
        qemu) has_command qemu-system-x86_64 || needs_no_virtual_nodes ;;
        static-libc) has_static_libc || needs_no_virtual_nodes ;;
        *) die "common/setup/packages.tsv names $1, which nothing looks for" ;;
    esac
}
