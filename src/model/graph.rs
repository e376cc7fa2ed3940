//! The strongly connected components of a graph.

/// The nodes of a graph that reach each other, by component.
pub(crate) struct Components {
    /// The number of the component of each node.
    pub(crate) of: Vec<usize>,
    /// The number of nodes of each component.
    pub(crate) sizes: Vec<usize>,
    /// All nodes, those of a component after those of all components that it leads to.
    pub(crate) targets_first: Vec<usize>,
}

/// Finds the components of the graph in which each node leads to its `targets`, in linear time.
pub(crate) fn components(targets: &[Vec<usize>]) -> Components {
    const NEW: usize = usize::MAX;
    let count = targets.len();
    // Tarjan's algorithm, with a list in place of recursion, because a chain can be long.
    let (mut order, mut low, mut next) = (vec![NEW; count], vec![0; count], 0);
    let mut found = Components { of: vec![NEW; count], sizes: Vec::new(), targets_first: Vec::new() };
    let mut stack = Vec::new();
    for start in 0..count {
        if order[start] != NEW {
            continue;
        }
        // A node with the number of its targets that were visited.
        let mut open = vec![(start, 0)];
        while let Some((node, visited)) = open.last_mut() {
            let node = *node;
            if *visited == 0 && order[node] == NEW {
                (order[node], low[node]) = (next, next);
                next += 1;
                stack.push(node);
            }
            if let Some(target) = targets[node].get(*visited).copied() {
                *visited += 1;
                if order[target] == NEW {
                    open.push((target, 0));
                } else if found.of[target] == NEW {
                    low[node] = low[node].min(order[target]);
                }
                continue;
            }
            open.pop();
            if let Some((parent, _)) = open.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
            if low[node] == order[node] {
                found.close(&mut stack, node);
            }
        }
    }
    found
}

impl Components {
    /// Ends the component whose first visited node is `first`. The components that it leads to have ended
    /// before.
    fn close(&mut self, stack: &mut Vec<usize>, first: usize) {
        let (number, before) = (self.sizes.len(), self.targets_first.len());
        while let Some(node) = stack.pop() {
            self.of[node] = number;
            self.targets_first.push(node);
            if node == first {
                break;
            }
        }
        self.sizes.push(self.targets_first.len() - before);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_that_reach_each_other_are_one_component_and_targets_come_first() {
        // 0 → 1 ⇄ 2 → 3, and 4 alone.
        let found = components(&[vec![1], vec![2], vec![1, 3], vec![], vec![]]);
        let place = |node| found.targets_first.iter().position(|one| *one == node).unwrap();
        assert_eq!(found.of[1], found.of[2]);
        assert_eq!([0, 1, 3, 4].map(|node| found.sizes[found.of[node]]), [1, 2, 1, 1]);
        assert!(place(3) < place(2) && place(3) < place(1) && place(2) < place(0) && place(1) < place(0));
    }
}
