"""What is near to whom: memory of each NUMA node from each other one, and what policies make of
it. For `./numalab explore 05`."""
