-- SPDX-License-Identifier: Apache-2.0
--
-- kernels.sql - kernels of all devices by name, as trainprof-merge -v kernel
--
-- tables: kernels
SELECT
	name AS kernel,
	count(*) AS calls,
	sum(dur_ns) AS total_ns,
	sum(dur_ns) // count(*) AS mean_ns,
	min(dur_ns) AS min_ns,
	max(dur_ns) AS max_ns
FROM kernels
WHERE kind = 'kernel'
GROUP BY name
ORDER BY total_ns DESC, kernel
