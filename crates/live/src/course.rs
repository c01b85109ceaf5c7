//! The course of a program: the processor time that its work took, from the start of each run.
//!
//! A program that works through its input does not work equally fast everywhere. Earlier runs of the same program show
//! how fast it is at each place. No page of the present period could change those runs, so the correction favours no
//! kind of pages.

use std::collections::BTreeMap;

/// Work and processor time at some moments of one run.
#[derive(Clone, Debug, Default)]
struct Course {
    points: Vec<(f64, f64)>,
}

/// A course with fewer points tells too little.
const FEWEST_POINTS: usize = 8;

impl Course {
    fn add(&mut self, work: f64, cpu: f64) {
        let grew = |&(before, _): &(f64, f64)| work > before;
        if self.points.last().is_none_or(grew) {
            self.points.push((work, cpu));
        }
    }

    /// The processor time at a place: between the points around it, beyond them at the mean rate.
    fn cpu(&self, work: f64) -> Option<f64> {
        let ((first, cpu_first), (last, cpu_last)) = (*self.points.first()?, *self.points.last()?);
        if work <= first {
            return Some(cpu_first - (first - work) * self.cost()?);
        }
        if work >= last {
            return Some(cpu_last + (work - last) * self.cost()?);
        }
        let after = self.points.partition_point(|it| it.0 < work);
        let ((from, cpu_from), (to, cpu_to)) = (self.points[after - 1], self.points[after]);
        Some(cpu_from + (cpu_to - cpu_from) * (work - from) / (to - from))
    }

    /// The processor time of a unit of work in the whole course. `None` if it has too few points.
    fn cost(&self) -> Option<f64> {
        let ((first, cpu_first), (last, cpu_last)) = (*self.points.first()?, *self.points.last()?);
        let cost = (cpu_last - cpu_first) / (last - first);
        (self.points.len() >= FEWEST_POINTS && cost > 0.0).then_some(cost)
    }

    /// The processor time of a unit of work between two places, relative to the whole course.
    fn relative_cost(&self, begin: f64, end: f64) -> Option<f64> {
        let here = (self.cpu(end)? - self.cpu(begin)?) / (end - begin);
        let relative = here / self.cost()?;
        (relative.is_finite() && relative > 0.0).then_some(relative)
    }
}

/// The courses of the runs of a program.
#[derive(Clone, Debug, Default)]
pub struct Courses {
    by_run: BTreeMap<u32, Course>,
}

impl Courses {
    /// Adds a moment of a run: work and processor seconds since its start.
    pub fn add(&mut self, run: u32, work: f64, cpu: f64) {
        self.by_run.entry(run).or_default().add(work, cpu);
    }

    /// Returns the processor time of a unit of work between two places, relative to a whole run: the mean of the runs
    /// before `run`. `None` without one.
    #[must_use]
    pub fn relative_cost(&self, run: u32, begin: f64, end: f64) -> Option<f64> {
        let courses = self.by_run.range(..run);
        let costs: Vec<f64> = courses
            .filter_map(|(_, it)| it.relative_cost(begin, end))
            .collect();
        (!costs.is_empty()).then(|| costs.iter().sum::<f64>() / costs.len() as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A run whose second half takes three times as long per unit.
    fn pass(courses: &mut Courses, run: u32) {
        for step in 0..=10 {
            let work = f64::from(step) * 10.0;
            courses.add(run, work, work + 2.0 * (work - 50.0).max(0.0));
        }
    }

    #[test]
    fn an_earlier_run_shows_the_cost_of_each_place() {
        let mut courses = Courses::default();
        pass(&mut courses, 0);
        assert_eq!(courses.relative_cost(0, 10.0, 20.0), None);
        assert_eq!(courses.relative_cost(1, 12.0, 23.0), Some(0.5));
        assert_eq!(courses.relative_cost(1, 60.0, 75.0), Some(1.5));
        assert_eq!(courses.relative_cost(1, 0.0, 100.0), Some(1.0));
        assert_eq!(courses.relative_cost(1, 100.0, 110.0), Some(1.0));
        assert_eq!(courses.relative_cost(1, 90.0, 110.0), Some(1.25));
    }

    #[test]
    fn a_run_that_ended_soon_shows_nothing() {
        let mut courses = Courses::default();
        courses.add(0, 0.0, 0.0);
        courses.add(0, 50.0, 1.0);
        pass(&mut courses, 1);
        assert_eq!(courses.relative_cost(2, 60.0, 75.0), Some(1.5));
        assert_eq!(courses.relative_cost(2, 10.0, 20.0), Some(0.5));
    }
}
