from numalab.commands.root import main

main()
