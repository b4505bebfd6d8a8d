-- numalab @VERSION@ for Lmod; ./numalab install fills in what stands between at signs.
help([[
Labs on NUMA, OpenMP and MPI performance, and their grader.

  numalab setup      once: makes your folder, ~/numalab, and builds
  cd ~/numalab
  ./numalab grade 01 --quick

NUMALAB_WORK names another folder than ~/numalab; builds and snapshots, up to 1 GB, go to
XDG_CACHE_HOME (~/.cache), results to XDG_STATE_HOME (~/.local/state).
]])
whatis("Name: numalab")
whatis("Version: @VERSION@")
whatis("Description: labs on NUMA, OpenMP and MPI performance, and their grader")
@NEEDS@
setenv("NUMALAB_KIT", "@PREFIX@/share/numalab")
prepend_path("PATH", "@PREFIX@/bin")
prepend_path("JUPYTER_PATH", "@PREFIX@/share/numalab/.venv/share/jupyter")
