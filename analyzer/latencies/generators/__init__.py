"""Results of load generators and benchmarks: k6, vegeta, wrk, YCSB, JMeter, hyperfine."""
