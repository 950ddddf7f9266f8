//! The addresses that count as one client.

use std::net::{IpAddr, Ipv6Addr};

/// The addresses that count as one. A host chooses among the addresses of an IPv6 network.
pub fn network(address: IpAddr) -> IpAddr {
    without_host_bits(address, 64)
}

/// The addresses that have one share of a pool together. Providers assign up to 65,536 IPv6
/// networks (/48) to one customer, which must not have as many shares.
pub fn customer(address: IpAddr) -> IpAddr {
    without_host_bits(address, 80)
}

fn without_host_bits(address: IpAddr, bits: u32) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(host) => Ipv6Addr::from_bits(host.to_bits() >> bits << bits).into(),
        host => host,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_an_ipv6_network_count_as_one() {
        for (address, expected, of_customer) in [
            ("192.0.2.7", "192.0.2.7", "192.0.2.7"),
            ("::ffff:192.0.2.7", "192.0.2.7", "192.0.2.7"),
            ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::", "2001:db8:1::"),
            ("2001:db8:1:2::1", "2001:db8:1:2::", "2001:db8:1::"),
            ("2001:db8:1:3::1", "2001:db8:1:3::", "2001:db8:1::"),
            ("2001:db8:2:3::1", "2001:db8:2:3::", "2001:db8:2::"),
        ] {
            let address: IpAddr = address.parse().unwrap();
            assert_eq!(network(address).to_string(), expected, "{address}");
            assert_eq!(customer(address).to_string(), of_customer, "{address}");
        }
    }
}
