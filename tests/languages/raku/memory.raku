my $text = "xy";
loop { $text = ($text ~ $text).flip }
