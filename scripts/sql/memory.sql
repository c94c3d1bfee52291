-- SPDX-License-Identifier: Apache-2.0
--
-- memory.sql - the most bytes in tensors on each device of each process, when that was, and for what, as
-- trainprof-merge -v memory
--
-- tables: tensors
WITH
edge AS (
	SELECT process_at, device_type, device, begin_ns AS at_ns, bytes FROM tensors
	UNION ALL
	SELECT process_at, device_type, device, begin_ns + dur_ns, -bytes FROM tensors
),
moment AS (
	SELECT process_at, device_type, device, at_ns, sum(bytes) AS bytes FROM edge GROUP BY ALL
),
alive AS (
	SELECT
		process_at, device_type, device, at_ns,
		sum(bytes) OVER (PARTITION BY process_at, device_type, device ORDER BY at_ns) AS bytes
	FROM moment
),
peak AS (
	SELECT process_at, device_type, device, max(bytes) AS bytes, arg_min(at_ns, (-bytes, at_ns)) AS at_ns
	FROM alive
	GROUP BY ALL
)
SELECT
	peak.process_at, peak.device_type, peak.device, peak.at_ns, tensors.category,
	sum(tensors.bytes) AS peak_bytes
FROM peak JOIN tensors
	ON tensors.process_at = peak.process_at AND tensors.device_type = peak.device_type
	AND tensors.device IS NOT DISTINCT FROM peak.device
	AND tensors.begin_ns <= peak.at_ns AND tensors.begin_ns + tensors.dur_ns > peak.at_ns
GROUP BY ALL
ORDER BY peak.process_at, peak.device_type, peak.device, peak_bytes DESC
