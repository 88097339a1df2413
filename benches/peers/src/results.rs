//! The files that a run leaves.

use bevy_relations_peers::{Machine, Record, TABLES, Workload, from_csv, plots, results, summary, to_csv};
use std::{
    fs, io,
    path::{Path, PathBuf},
};

/// Stands between what was measured and the records in the file of a run that is not finished.
const END: &str = "\n\n";

/// What was measured so far, and where it goes.
pub(crate) struct Results {
    directory: Option<PathBuf>,
    machine: Machine,
    records: Vec<Record>,
    failures: Vec<String>,
}

impl Results {
    pub(crate) fn new(directory: Option<&Path>, machine: Machine) -> io::Result<Self> {
        if let Some(directory) = directory {
            fs::create_dir_all(directory.join("plots"))?;
        }
        let directory = directory.map(Path::to_owned);
        Ok(Self { directory, machine, records: Vec::new(), failures: Vec::new() })
    }

    /// Takes up what a run has left that was interrupted.
    ///
    /// # Errors
    /// If nothing was left, or if it was measured elsewhere or of something else.
    pub(crate) fn resume(mut self) -> io::Result<Self> {
        let file = self.unfinished().ok_or_else(|| io::Error::other("--resume goes with --write"))?;
        let text = fs::read_to_string(&file)?;
        let (of, records) =
            text.split_once(END).ok_or_else(|| io::Error::other("it says not of what it is"))?;
        if of != self.machine.subject() {
            let problem =
                format!("{} was measured of\n{of}\nand not of\n{}", file.display(), self.machine.subject());
            return Err(io::Error::other(problem));
        }
        self.records = from_csv(records).map_err(io::Error::other)?;
        Ok(self)
    }

    /// Whether a workload was measured before the run was interrupted.
    pub(crate) fn has(&self, workload: &Workload) -> bool {
        self.records.iter().any(|record| record.workload == workload.id && record.size == workload.size)
    }

    pub(crate) fn machine(&self) -> &Machine {
        &self.machine
    }

    /// Keeps records, in a file of its own too: a run that is interrupted leaves the results of the last one as they
    /// were, and what it has found itself beside them.
    pub(crate) fn add(&mut self, records: Vec<Record>) -> io::Result<()> {
        self.records.extend(records);
        match self.unfinished() {
            Some(file) => fs::write(file, self.machine.subject() + END + &to_csv(&self.records)),
            None => Ok(()),
        }
    }

    pub(crate) fn fail(&mut self, problem: String) {
        self.failures.push(problem);
    }

    fn unfinished(&self) -> Option<PathBuf> {
        Some(self.directory.as_ref()?.join("unfinished.csv"))
    }

    /// Writes everything. False if something had failed.
    pub(crate) fn finish(self) -> io::Result<bool> {
        let Self { directory, machine, records, failures } = &self;
        if let Some(directory) = directory {
            fs::write(directory.join("results.csv"), to_csv(records))?;
            show(directory, &results(machine, records, failures), records)?;
        }
        if let Some(file) = self.unfinished().filter(|file| file.exists()) {
            fs::remove_file(file)?;
        }
        Ok(failures.is_empty())
    }
}

/// Writes whatever people look at.
fn show(directory: &Path, tables: &str, records: &[Record]) -> io::Result<()> {
    fs::write(directory.join("results.md"), tables)?;
    fs::write(directory.join("summary.md"), summary(records))?;
    for plot in plots(records) {
        fs::write(directory.join("plots").join(plot.family).with_extension("svg"), plot.svg)?;
    }
    Ok(())
}

/// Writes tables and plots of results again, which look otherwise now. What was measured, and where, stays.
pub(crate) fn show_again(directory: &Path) -> io::Result<()> {
    let records = from_csv(&fs::read_to_string(directory.join("results.csv"))?).map_err(io::Error::other)?;
    let written = fs::read_to_string(directory.join("results.md"))?;
    let (head, _) = written.split_once(TABLES).ok_or_else(|| io::Error::other("results.md has no tables"))?;
    let again = results(&Machine::here(), &records, &[]);
    let tables = again.split_once(TABLES).map_or("", |(_, tables)| tables);
    show(directory, &format!("{head}{TABLES}{tables}"), &records)
}
