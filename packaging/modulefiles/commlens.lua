-- A module of Lmod for an installation below `root`: bin/commlens-bench, and bin/commlens of a virtual environment there.
help([[commlens measures what an application's communication costs on a GPU machine. `commlens list` shows what it has.]])
whatis("Name: commlens")
whatis("Description: communication patterns of applications, over every transport of a machine")

local root = os.getenv("COMMLENS_ROOT") or "/opt/commlens"

prepend_path("PATH", pathJoin(root, "bin"))
setenv("COMMLENS_BENCH", pathJoin(root, "bin", "commlens-bench"))
-- The MPI with which it was built:
-- depends_on("openmpi/5.0.7")
