/* Right calls with MPI's constants that are addresses of no object; compiled, never run. */
#include <mpi.h>
#include <stdlib.h>
void calls(double *a, int n);
void calls(double *a, int n)
{
    MPI_Request r[4];
    MPI_Status s;
    int flag, size, idx;
    MPI_Win w;
    MPI_Comm c, d;
    MPI_Datatype t;
    int counts[2] = {1, 1}, displs[2] = {0, 8};
    MPI_Datatype types[2] = {MPI_DOUBLE, MPI_DOUBLE};
    MPI_Aint at[2];
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    MPI_Get_address(a, &at[0]);
    MPI_Get_address(a + 1, &at[1]);
    MPI_Type_create_struct(2, counts, at, types, &t);
    MPI_Type_commit(&t);
    MPI_Sendrecv(MPI_BOTTOM, 1, t, MPI_PROC_NULL, 0, MPI_BOTTOM, 1, t, MPI_PROC_NULL, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Type_free(&t);
    MPI_Allreduce(MPI_IN_PLACE, a, n, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, a, 1, MPI_DOUBLE, MPI_COMM_WORLD);
    MPI_Alltoallv(MPI_IN_PLACE, NULL, NULL, MPI_DATATYPE_NULL, a, counts, displs, MPI_DOUBLE, MPI_COMM_SELF);
    MPI_Reduce(a, NULL, 0, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
    MPI_Gather(a, 1, MPI_DOUBLE, NULL, 0, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Irecv(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r[0]);
    MPI_Isend(NULL, 0, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD, &r[1]);
    MPI_Waitall(2, r, MPI_STATUSES_IGNORE);
    MPI_Send_init(a, n, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r[0]);
    MPI_Recv_init(a, n, MPI_DOUBLE, MPI_PROC_NULL, 1, MPI_COMM_WORLD, &r[1]);
    MPI_Startall(2, r);
    MPI_Testall(2, r, &flag, MPI_STATUSES_IGNORE);
    MPI_Waitany(2, r, &idx, MPI_STATUS_IGNORE);
    MPI_Testsome(2, r, &flag, counts, MPI_STATUSES_IGNORE);
    MPI_Waitsome(2, r, &flag, counts, MPI_STATUSES_IGNORE);
    MPI_Probe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &s);
    MPI_Iprobe(MPI_PROC_NULL, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE);
    MPI_Win_create(a, (MPI_Aint)n * 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &w);
    MPI_Put(a, 1, MPI_DOUBLE, 0, 0, 1, MPI_DOUBLE, w);
    MPI_Win_fence(0, w);
    MPI_Win_free(&w);
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 0, NULL, MPI_UNWEIGHTED, 0, NULL, MPI_WEIGHTS_EMPTY, MPI_INFO_NULL, 0, &c);
    MPI_Cart_create(MPI_COMM_WORLD, 1, counts, counts, 0, &d);
    MPI_Comm_spawn("x", MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, MPI_COMM_SELF, &c, MPI_ERRCODES_IGNORE);
    MPI_Bcast(a, 0, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Bcast(NULL, 0, MPI_DOUBLE, 0, MPI_COMM_WORLD);
    MPI_Ibarrier(MPI_COMM_WORLD, r);
    MPI_Wait(r, MPI_STATUS_IGNORE);
    MPI_Comm_free(&d);
}
