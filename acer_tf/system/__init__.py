"""The process and the machine: threads, memory, devices, random streams, console."""
