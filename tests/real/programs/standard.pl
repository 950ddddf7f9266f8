# Uses the modules of Perl that depend on the system. It fails if a result is wrong.
use strict;
use warnings;
use Compress::Zlib;
use DB_File;
use Digest::SHA qw(sha256_hex);
use File::Temp qw(tempdir);
use IO::Socket::INET;
use JSON::PP;
use POSIX qw(strftime);
use Storable;
use Sys::Hostname;

sub check {
    my ($name, $is_right) = @_;
    die "$name: wrong result\n" if !$is_right;
}

my $directory = tempdir(CLEANUP => 1);
my $server = IO::Socket::INET->new(Listen => 5, LocalAddr => 'localhost') or die $!;
my $child = fork // die $!;
if (!$child) {
    my $connection = $server->accept;
    print $connection "line\n";
    close $connection;
    POSIX::_exit(3);
}
my $client = IO::Socket::INET->new(PeerAddr => 'localhost', PeerPort => $server->sockport)
    or die $!;
check('socket', scalar(<$client>) eq "line\n");
waitpid $child, 0;
check('status', $? >> 8 == 3);
check('account', scalar(my @account = getpwuid($<)) > 0);
check('host name', length(hostname()) > 0);
tie my %table, 'DB_File', "$directory/table" or die $!;
$table{key} = 1;
untie %table;
check('DB_File', -s "$directory/table");
store { list => [1, 2] }, "$directory/stored";
check('Storable', retrieve("$directory/stored")->{list}[1] == 2);
check('backticks', `echo text` eq "text\n");
check('zlib', length(Compress::Zlib::memGunzip(Compress::Zlib::memGzip('x' x 100))) == 100);
check('SHA', sha256_hex('a') =~ /^ca978112/);
check('JSON', encode_json({ key => 1 }) eq '{"key":1}');
$ENV{TZ} = 'Asia/Tokyo';
POSIX::tzset();
check('time zone', strftime('%H %Z', localtime 0) eq '09 JST');
check('services', getservbyname('http', 'tcp') == 80);
check('protocols', getprotobyname('udp') == 17);
my $alarms = 0;
$SIG{ALRM} = sub { $alarms++ };
alarm 1;
select undef, undef, undef, 10;
check('alarm', $alarms == 1);
