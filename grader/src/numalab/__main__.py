from numalab.cli import main

main()
