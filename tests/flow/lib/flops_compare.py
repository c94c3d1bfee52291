# SPDX-License-Identifier: Apache-2.0
"""flops_compare.py - operations by operator and module of N steps against torch's counter of one

usage: flops_compare.py TORCH.json ROWS STEPS	"same", or what differs
"""
import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        theirs = json.load(file)
    steps = int(sys.argv[3])
    ours, modules = {}, 0
    with open(sys.argv[2], encoding="utf-8") as file:
        for line in file:
            row = json.loads(line)
            if row["table"] == "operator" and row.get("flops"):
                ours[row["operator"]] = row["flops"] / steps
            elif row["table"] == "module" and row["depth"] == 1:
                modules += (row["forward_flops"] + row["backward_flops"]) / steps
    if ours != theirs:
        print("torch:", sorted(theirs.items()), "ours:", sorted(ours.items()))
    elif modules != sum(theirs.values()):
        print("all:", sum(theirs.values()), "the outermost module's:", modules)
    else:
        print("same")


if __name__ == "__main__":
    main()
