package egress

import "net/netip"

// isMetadataService reports whether a cloud gives out the calling machine's credentials
// at the address. Most are link-local or private addresses, which a wide allow_private
// would open with their network; Azure's is a public one.
func isMetadataService(ip netip.Addr) bool {
	switch ip.WithZone("").String() {
	case "169.254.169.254", // AWS, Google, Azure, Oracle, DigitalOcean, OpenStack and others
		"169.254.170.2", "169.254.170.23", // tasks of ECS, pods of EKS
		"169.254.0.23",                  // Tencent
		"168.63.129.16",                 // Azure's WireServer
		"100.100.100.200",               // Alibaba
		"192.0.0.192",                   // Oracle, the older service
		"fd00:ec2::254", "fd00:ec2::23", // AWS, pods of EKS
		"fd20:ce::254",    // Google
		"fe80::a9fe:a9fe": // OpenStack
		return true
	}
	return false
}
