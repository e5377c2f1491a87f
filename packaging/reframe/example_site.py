"""A small configuration of ReFrame: a Slurm cluster without accounting, and Open MPI.

`squeue` is ReFrame's scheduler that needs no accounting; where there is accounting, write `slurm`.
"""

site_configuration = {
    "systems": [
        {
            "name": "example",
            "descr": "two nodes",
            "hostnames": [".*"],
            "partitions": [
                {
                    "name": "batch",
                    "scheduler": "squeue",
                    "launcher": "srun",
                    "env_vars": [["SLURM_MPI_TYPE", "pmix"], ["SLURM_KILL_BAD_EXIT", "1"]],
                    "access": ["--no-requeue"],
                    "environs": ["mpi"],
                    "max_jobs": 1,
                }
            ],
        }
    ],
    "environments": [{"name": "mpi"}],
}
