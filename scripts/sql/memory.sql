-- SPDX-License-Identifier: Apache-2.0
--
-- memory.sql - the most bytes in tensors on each device of each process, when that was, and for what, as
-- trainprof-merge -v memory
--
-- tables: tensors
-- What has no row of its own lived as long as any block of its window.
WITH
life AS (
	SELECT
		process_at, device_type, device, category, bytes, begin_ns,
		CASE is_rest
			WHEN 1 THEN max(begin_ns + dur_ns) OVER (PARTITION BY process_at, device_type, device, "window")
			ELSE begin_ns + dur_ns
		END AS end_ns
	FROM tensors
),
edge AS (
	SELECT process_at, device_type, device, begin_ns AS at_ns, bytes FROM life
	UNION ALL
	SELECT process_at, device_type, device, end_ns, -bytes FROM life
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
	peak.process_at, peak.device_type, peak.device, peak.at_ns, life.category,
	sum(life.bytes) AS peak_bytes
FROM peak JOIN life
	ON life.process_at = peak.process_at AND life.device_type = peak.device_type
	AND life.device IS NOT DISTINCT FROM peak.device
	AND life.begin_ns <= peak.at_ns AND life.end_ns > peak.at_ns
GROUP BY ALL
ORDER BY peak.process_at, peak.device_type, peak.device, peak_bytes DESC
