"""The commands of rcp-lab, a file each."""
