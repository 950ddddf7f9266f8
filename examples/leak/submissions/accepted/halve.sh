# The same algorithm as halve.cpp.
read -r n _
first=1 last=$n
while ((first < last)); do
    middle=$(((first + last + 1) / 2))
    echo "? $middle"
    read -r answer
    if [ "$answer" = wet ]; then first=$middle; else last=$((middle - 1)); fi
done
echo "! $first"
