// Package sweep visits every failpoint. Under traffic, it kills, fails and delays real
// processes at each failpoint, at its first, second and a later passage, and then judges the
// history.
//
// A sweep has two parts. In the first, errors and then delays hit processes that stay alive. In the
// second, each process starts with all outstanding kills, and dies at the first of their failpoints
// that it passes. Finally, failpoints kill processes while they drain. After each part, all faults
// end and all accepted work must finish. A missed visit is a failure, as is a violation.
package sweep
