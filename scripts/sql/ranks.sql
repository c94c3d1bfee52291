-- SPDX-License-Identifier: Apache-2.0
--
-- ranks.sql - who keeps the others waiting: of each rank, how long it waited in a step for others, and how
-- late it was itself, as trainprof-merge -v comm
--
-- tables: collective_calls, processes, step_breakdown
-- Messages between two ranks have nobody who is late.
WITH steps AS (
	SELECT process, count(*) AS n FROM step_breakdown GROUP BY process
)
SELECT
	processes.process AS rank,
	coalesce(any_value(steps.n), 0) AS steps,
	coalesce(sum(wait_ns), 0) // greatest(any_value(steps.n), 1) AS waited_ns,
	count(*) FILTER (behind_ns IS NOT NULL) AS last,
	coalesce(max(behind_ns), 0) AS late_max_ns
FROM collective_calls
JOIN processes USING (process_at)
LEFT JOIN steps ON steps.process = processes.process
GROUP BY processes.process
ORDER BY min(process_at)
