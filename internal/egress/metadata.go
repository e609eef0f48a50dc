package egress

import "net/netip"

// isMetadataService reports whether a cloud serves the calling machine's credentials at the
// address. Most such addresses are link-local or private, so a wide network in allow_private can
// contain them. Azure's address is public.
func isMetadataService(ip netip.Addr) bool {
	switch ip.WithZone("").String() {
	case "169.254.169.254", // AWS, Google, Azure, Oracle, DigitalOcean, OpenStack and others
		"169.254.170.2", "169.254.170.23", // ECS tasks, EKS pods
		"169.254.0.23",                  // Tencent
		"168.63.129.16",                 // Azure's WireServer
		"100.100.100.200",               // Alibaba
		"192.0.0.192",                   // Oracle's older service
		"fd00:ec2::254", "fd00:ec2::23", // AWS, EKS pods
		"fd20:ce::254",    // Google
		"fe80::a9fe:a9fe": // OpenStack
		return true
	}
	return false
}
