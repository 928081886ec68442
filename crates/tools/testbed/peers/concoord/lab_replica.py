"""A replica of ConCoord: what its script `concoord` does, which nobody has to install."""
from concoord.main import main

main()
