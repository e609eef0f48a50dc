// Package sweep visits every failpoint: real processes are killed, failed and delayed at
// each, at its first, second and a later passage, under traffic, and afterwards the
// history is judged.
//
// A sweep has three legs. In the first, processes meet all errors and delays while
// they live; in the second each is started with all kills that are still to come, and
// dies at the first of these places; in the third processes are killed while they
// drain. After the first and at the end all faults are over, and what was accepted
// must come to its end. A visit that was not made is a failure, as is a violation.
package sweep
