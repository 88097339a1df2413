//! Plots of cost against size: a picture for each family of workloads, with a panel for each workload.

use super::{
    by_size, by_workload, number, size,
    svg::{Side, Svg},
};
use crate::{
    record::{Record, Team},
    workloads,
};
use std::ops::Range;

const PANEL: (f64, f64) = (520.0, 290.0);
const LEFT: f64 = 48.0;
const TOP: f64 = 44.0;
const BOTTOM: f64 = 30.0;
/// Room for the names of contestants.
const RIGHT: f64 = 170.0;
/// Between the names of two contestants.
const NAMES: f64 = 13.0;

/// What tells the lines of one team apart.
const DASHES: [&str; 5] = ["", "7 3", "2 3", "9 3 2 3", "4 2 1 2 1 2"];

/// A picture.
#[derive(Debug)]
pub struct Plot {
    /// What it shows.
    pub family: &'static str,
    /// The picture itself.
    pub svg: String,
}

/// A picture for each family of workloads, in their order.
pub fn plots(records: &[Record]) -> Vec<Plot> {
    let workloads = by_workload(records);
    let family_of = |workload: &str| workloads::entry(workload).family;
    let same = |left: &(&str, _), right: &(&str, _)| family_of(left.0) == family_of(right.0);
    workloads
        .chunk_by(same)
        .map(|workloads| {
            let family = family_of(workloads[0].0);
            Plot { family, svg: picture(family, workloads) }
        })
        .collect()
}

fn picture(family: &str, workloads: &[(&str, Vec<&Record>)]) -> String {
    let columns = workloads.len().min(2);
    let rows = workloads.len().div_ceil(columns);
    let mut svg = Svg::new(PANEL.0 * columns as f64, PANEL.1 * rows as f64);
    for (place, (workload, records)) in workloads.iter().enumerate() {
        let corner = (PANEL.0 * (place % columns) as f64, PANEL.1 * (place / columns) as f64);
        let panel = Panel { corner, names: names(records), workload, records };
        if by_size(records).len() > 1 { panel.curves(&mut svg) } else { panel.dots(&mut svg) }
    }
    svg.finish(family)
}

/// Contestants in the order in which they appear, with the class and the dashes of their lines.
fn names<'a>(records: &[&'a Record]) -> Vec<(&'a str, &'static str, &'static str)> {
    let mut names: Vec<(&str, &str, &str)> = Vec::new();
    for record in records {
        let name = record.contestant.as_str();
        if names.iter().any(|(other, ..)| *other == name) {
            continue;
        }
        let class = match Team::of(name) {
            Some((Team::Ours, _)) => "ours",
            Some((Team::Flecs, _)) => "flecs",
            Some((Team::Bevy, _)) => "bevy",
            _ => "hand",
        };
        let earlier = names.iter().filter(|(_, other, _)| *other == class).count();
        names.push((name, class, DASHES[earlier % DASHES.len()]));
    }
    names
}

/// Powers of ten, on a range of the paper.
struct Axis {
    powers: (f64, f64),
    paper: Range<f64>,
}

impl Axis {
    /// Over whole powers of ten.
    fn whole(values: impl Iterator<Item = f64> + Clone, paper: Range<f64>) -> Self {
        let (low, high) = bounds(values);
        let (low, high) = (low.log10().floor(), high.log10().ceil());
        Self { powers: (low, if high > low { high } else { low + 1.0 }), paper }
    }

    /// From the least to the greatest.
    fn exact(values: impl Iterator<Item = f64> + Clone, paper: Range<f64>) -> Self {
        let (low, high) = bounds(values);
        Self { powers: (low.log10(), high.log10()), paper }
    }

    fn at(&self, value: f64) -> f64 {
        let (low, high) = self.powers;
        let Range { start, end } = self.paper;
        start + (value.max(LEAST).log10() - low) / (high - low) * (end - start)
    }

    fn ticks(&self) -> impl Iterator<Item = f64> + use<> {
        (self.powers.0 as i32..=self.powers.1 as i32).map(|power| 10f64.powi(power))
    }
}

/// What is less is shown there: nothing is quicker than a thousandth of a nanosecond.
const LEAST: f64 = 0.001;

/// The least and the greatest.
fn bounds(values: impl Iterator<Item = f64> + Clone) -> (f64, f64) {
    let low = values.clone().fold(f64::MAX, f64::min).max(LEAST);
    (low, values.fold(low, f64::max))
}

struct Panel<'a> {
    corner: (f64, f64),
    workload: &'a str,
    records: &'a [&'a Record],
    names: Vec<(&'a str, &'static str, &'static str)>,
}

impl Panel<'_> {
    fn horizontal(&self) -> Range<f64> {
        self.corner.0 + LEFT..self.corner.0 + PANEL.0 - RIGHT
    }

    /// From the bottom up.
    fn vertical(&self) -> Range<f64> {
        self.corner.1 + PANEL.1 - BOTTOM..self.corner.1 + TOP
    }

    fn costs(&self) -> impl Iterator<Item = f64> + Clone {
        self.records.iter().flat_map(|record| [record.low, record.median, record.high])
    }

    fn title(&self, svg: &mut Svg, what: &str) {
        let unit = workloads::entry(self.workload).unit.per_element();
        let title = format!("{}: {unit} per element{what}", self.workload);
        svg.text("title", (self.corner.0 + 12.0, self.corner.1 + 22.0), Side::Right, &title);
    }

    /// Cost against size.
    fn curves(&self, svg: &mut Svg) {
        self.title(svg, "");
        let (across, up) = (self.horizontal(), self.vertical());
        let sizes = by_size(self.records);
        let x = Axis::exact(sizes.iter().map(|(size, _)| *size as f64), across.clone());
        let y = Axis::whole(self.costs(), up.clone());
        for tick in y.ticks() {
            svg.line("grid", (across.start, y.at(tick)), (across.end, y.at(tick)));
            svg.text("", (across.start - 6.0, y.at(tick) + 4.0), Side::Left, &tick.to_string());
        }
        for (of_size, _) in &sizes {
            let at = x.at(*of_size as f64);
            svg.line("grid", (at, up.start), (at, up.end));
            svg.text("", (at, up.start + 18.0), Side::Middle, &size(*of_size));
        }
        let mut labels = Vec::new();
        for &(name, class, dashes) in &self.names {
            let own = || self.records.iter().filter(|record| record.contestant == name);
            for record in own() {
                let at = x.at(record.size as f64);
                svg.line(&format!("spread {class}"), (at, y.at(record.low)), (at, y.at(record.high)));
            }
            let points: Vec<_> =
                own().map(|record| (x.at(record.size as f64), y.at(record.median))).collect();
            svg.curve(class, dashes, &points);
            points.iter().for_each(|&point| svg.dot(class, point));
            labels.extend(points.last().map(|&point| (point, name, class)));
        }
        labels.sort_by(|left, right| left.0.1.total_cmp(&right.0.1));
        let places = spread(labels.iter().map(|(point, ..)| point.1).collect(), up.end..up.start);
        for ((point, name, class), place) in labels.into_iter().zip(places) {
            let start = across.end + 14.0;
            svg.line(&format!("leader {class}"), point, (start, place));
            svg.text(&format!("label {class}"), (start + 3.0, place + 4.0), Side::Right, name);
        }
    }

    /// The time of each contestant, where there is one size only.
    fn dots(&self, svg: &mut Svg) {
        let sizes: Vec<_> = by_size(self.records).into_iter().map(|(of_size, _)| size(of_size)).collect();
        self.title(svg, &format!(", {} entities", sizes.join(", ")));
        let up = self.vertical();
        let names = self.corner.0 + RIGHT;
        let x = Axis::whole(self.costs(), names + 10.0..self.corner.0 + PANEL.0 - 60.0);
        for tick in x.ticks() {
            svg.line("grid", (x.at(tick), up.start), (x.at(tick), up.end));
            svg.text("", (x.at(tick), up.start + 18.0), Side::Middle, &tick.to_string());
        }
        let step = (up.start - up.end) / self.records.len() as f64;
        for (place, (record, (name, class, _))) in self.records.iter().zip(&self.names).enumerate() {
            let at = up.end + step * (place as f64 + 0.5);
            svg.text(&format!("label {class}"), (names, at + 4.0), Side::Left, name);
            svg.line(&format!("spread {class}"), (x.at(record.low), at), (x.at(record.high), at));
            svg.dot(class, (x.at(record.median), at));
            svg.text("", (x.at(record.high) + 8.0, at + 4.0), Side::Right, &number(record.median));
        }
    }
}

/// Moves sorted places apart, as far as needed, and not out of the range if there is room.
fn spread(mut places: Vec<f64>, range: Range<f64>) -> Vec<f64> {
    let mut least = range.start;
    for place in &mut places {
        *place = place.max(least);
        least = *place + NAMES;
    }
    let mut most = range.end;
    for place in places.iter_mut().rev() {
        *place = place.min(most);
        most = *place - NAMES;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::{
        super::{svg::tests::fault, tests::some},
        *,
    };

    #[test]
    fn every_family_has_a_well_formed_picture() {
        let plots = plots(&some());
        assert_eq!(plots.iter().map(|plot| plot.family).collect::<Vec<_>>(), ["retarget", "despawn"]);
        for Plot { svg, .. } in &plots {
            assert_eq!(fault(svg), None, "{svg}");
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
        // Two sizes make curves, one makes dots; a contestant with one size only has a dot in both.
        assert_eq!(plots[0].svg.matches("<polyline").count(), 5);
        assert_eq!(plots[0].svg.matches("<circle").count(), 8);
        assert_eq!(plots[1].svg.matches("<polyline").count(), 0);
        assert_eq!(plots[1].svg.matches("<circle").count(), 2);
    }

    #[test]
    fn names_do_not_lie_on_each_other() {
        let places = spread(vec![10.0, 11.0, 12.0, 90.0], 0.0..100.0);
        assert_eq!(places, [10.0, 23.0, 36.0, 90.0]);
        let places = spread(vec![95.0, 97.0, 99.0], 0.0..100.0);
        assert_eq!(places, [74.0, 87.0, 100.0]);
    }

    #[test]
    fn an_axis_ends_at_powers_of_ten() {
        let axis = Axis::whole([3.0, 450.0].into_iter(), 0.0..300.0);
        assert_eq!(axis.ticks().collect::<Vec<_>>(), [1.0, 10.0, 100.0, 1000.0]);
        assert_eq!((axis.at(1.0), axis.at(1000.0)), (0.0, 300.0));
        // Nothing took any time: there is still an axis.
        assert_eq!(Axis::whole([0.0].into_iter(), 0.0..1.0).ticks().count(), 2);
    }
}
