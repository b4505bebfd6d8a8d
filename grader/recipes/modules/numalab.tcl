#%Module1.0
# numalab @VERSION@ for Environment Modules; ./numalab install fills in what stands between at signs.
proc ModulesHelp { } {
    puts stderr {
Labs on NUMA, OpenMP and MPI performance, and their grader.

  numalab setup      once: makes your folder, ~/numalab, and builds
  cd ~/numalab
  ./numalab grade 01 --quick

NUMALAB_WORK names another folder than ~/numalab; builds and snapshots, up to 1 GB, go to
XDG_CACHE_HOME (~/.cache), results to XDG_STATE_HOME (~/.local/state).
}
}
module-whatis {Labs on NUMA, OpenMP and MPI performance, and their grader}
conflict numalab
@NEEDS@
setenv NUMALAB_KIT {@PREFIX@/share/numalab}
prepend-path PATH {@PREFIX@/bin}
prepend-path JUPYTER_PATH {@PREFIX@/share/numalab/.venv/share/jupyter}
