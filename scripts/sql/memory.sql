-- SPDX-License-Identifier: Apache-2.0
--
-- memory.sql - the most bytes in tensors on each device of each process, when that was, and for what, as
-- trainprof-merge -v memory
--
-- tables: tensors, processes, steps, step_breakdown
-- What is left without a row of its own lived as long as any block of its window. What a step had at most on
-- the host is what its step log says, unless a hundredth of that is missing here: then blocks that nobody
-- named make up for it.
WITH
step AS (
	SELECT process_at, begin_ns, begin_ns + steps.time_ns AS end_ns, peak_bytes AS most
	FROM steps JOIN step_breakdown USING (process, step) JOIN processes USING (process)
),
life AS (
	SELECT
		process_at, device_type, device, category, bytes, begin_ns,
		CASE
			WHEN is_rest = 1 AND is_alive = 1
			THEN max(begin_ns + dur_ns) OVER (PARTITION BY process_at, device_type, device, "window")
			ELSE begin_ns + dur_ns
		END AS end_ns
	FROM tensors
),
edge AS (
	SELECT process_at, device_type, device, begin_ns AS at_ns, bytes FROM life
	UNION ALL
	SELECT process_at, device_type, device, end_ns, -bytes FROM life
	UNION ALL
	SELECT process_at, device_type, device, unnest([step.begin_ns, step.end_ns]), 0
	FROM step JOIN (SELECT DISTINCT process_at, device_type, device FROM life) USING (process_at)
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
stretch AS (
	SELECT
		alive.*, coalesce(begin_ns, at_ns) AS begin_ns,
		CASE
			WHEN device_type = 0 AND most > 0 AND bytes >= most - most // 100 THEN most
			ELSE bytes
		END AS height
	FROM alive ASOF LEFT JOIN step ON alive.process_at = step.process_at AND alive.at_ns >= step.begin_ns
),
peak AS (
	SELECT
		process_at, device_type, device,
		arg_min({at_ns: at_ns, bytes: bytes, more: height - bytes}, (-height, begin_ns, -bytes, at_ns)) AS top
	FROM stretch
	GROUP BY ALL
),
held AS (
	SELECT peak.process_at, peak.device_type, peak.device, top.at_ns AS at_ns, life.category, life.bytes
	FROM peak JOIN life
		ON life.process_at = peak.process_at AND life.device_type = peak.device_type
		AND life.device IS NOT DISTINCT FROM peak.device
		AND life.begin_ns <= top.at_ns AND life.end_ns > top.at_ns
	UNION ALL
	SELECT process_at, device_type, device, top.at_ns, 'unknown', top.more FROM peak WHERE top.more <> 0
)
SELECT process_at, device_type, device, at_ns, category, sum(bytes) AS peak_bytes
FROM held
GROUP BY ALL
HAVING peak_bytes <> 0
ORDER BY process_at, device_type, device, peak_bytes DESC
