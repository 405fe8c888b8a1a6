# With nothing swapped, the change is applied.
echo good >> src/data.txt
