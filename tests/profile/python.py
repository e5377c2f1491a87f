"""Calls of mpi4py, of buffers and of objects: a ring with wildcards, and collectives."""

from mpi4py import MPI

world = MPI.COMM_WORLD
rank, ranks = world.rank, world.size
sent, received = bytearray(8000), bytearray(8000)
for step in range(20):
    requests = [
        world.Irecv(received, source=MPI.ANY_SOURCE, tag=MPI.ANY_TAG),
        world.Isend(sent, dest=(rank + 1) % ranks, tag=step % 3),
    ]
    while not MPI.Request.Testall(requests):
        pass
    world.allreduce(step)
    world.bcast({"values": [step] * 3}, root=step % ranks)
    world.gather(rank)
half = world.Split(rank % 2, rank)
half.Barrier()
half.Free()
world.sendrecv("x" * 100_000, dest=(rank + 1) % ranks, source=(rank - 1) % ranks)
