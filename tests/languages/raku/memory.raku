my @blocks;
loop { @blocks.push(buf8.new(1 xx 100_000)) }
