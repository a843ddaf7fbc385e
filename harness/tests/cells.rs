//! Every cell of the committed matrix as a test of its own: `runner::cli::theme/name@variant`.
//!
//! A cell that is started by its exact name opens one scenario file. Nothing is built here: what is missing or stale
//! fails with the command that builds or installs it.

use std::path::PathBuf;
use std::process::ExitCode;

use harness::catalogue::{Catalogue, CellSelector};
use harness::clis::CliSelector;
use harness::installation::Installation;
use harness::matrix::{
    CellName, CellSettings, CommittedMatrix, CommittedPair, Execution, Outcome, SilentObserver,
    prepare_cell,
};
use harness::report::findings;
use harness::runners::{Builder, Manifest};
use libtest_mimic::{Arguments, Failed, Trial};

/// Tests run beside many others: their bounds are wider than those of a run by hand.
const TIMEOUT_SCALE: f64 = 3.0;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    // A cell ends with the end of everything below its process, so one process runs one cell at a time.
    // nextest gives each test a process of its own.
    arguments.test_threads = Some(1);
    match trials(&arguments) {
        Ok(trials) => libtest_mimic::run(&arguments, trials).exit_code(),
        Err(message) => {
            eprintln!("failed to list the cells: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The tests that the arguments can mean; all of them unless one is named exactly.
fn trials(arguments: &Arguments) -> Result<Vec<Trial>, String> {
    let matrix = Matrix::open().map_err(|error| error.to_string())?;
    match &arguments.filter {
        Some(name) if arguments.exact && !arguments.list => {
            Ok(matrix.named(name).into_iter().collect())
        }
        _ => matrix.all().map_err(|error| error.to_string()),
    }
}

type AnyError = Box<dyn std::error::Error + Send + Sync>;

#[derive(Clone)]
struct Matrix {
    installation: Installation,
    catalogue: Catalogue,
    committed: CommittedMatrix,
}

impl Matrix {
    fn open() -> Result<Self, AnyError> {
        let installation = Installation::around(PathBuf::from(env!("CARGO_BIN_EXE_harness")));
        let catalogue = Catalogue::open(&installation.scenarios()?)?;
        let committed = CommittedMatrix::load(&installation.matrix_file()?)?;
        Ok(Self {
            installation,
            catalogue,
            committed,
        })
    }

    fn all(&self) -> Result<Vec<Trial>, AnyError> {
        let mut trials = Vec::new();
        for pair in &self.committed.pairs {
            trials.push(self.count(pair));
            for cell in pair.cells(&self.catalogue)? {
                trials.push(self.cell(pair, cell));
            }
        }
        Ok(trials)
    }

    /// The one test of this name, without looking at any other scenario.
    fn named(&self, name: &str) -> Option<Trial> {
        if let Some(pair) = self
            .committed
            .pairs
            .iter()
            .find(|pair| count_name(pair) == name)
        {
            return Some(self.count(pair));
        }
        let name: CellName = name.parse().ok()?;
        let pair = self
            .committed
            .pairs
            .iter()
            .find(|pair| pair.runner == name.runner && pair.cli == name.cli)?;
        Some(self.cell(pair, name.selector))
    }

    /// No cell of a pair is lost or comes unnoticed.
    fn count(&self, pair: &CommittedPair) -> Trial {
        let (catalogue, pair) = (self.catalogue.clone(), pair.clone());
        Trial::test(count_name(&pair), move || {
            let found = pair
                .cells(&catalogue)
                .map_err(|error| Failed::from(error.to_string()))?
                .len();
            if found == pair.cells {
                return Ok(());
            }
            Err(Failed::from(format!(
                "{} × {} has {found} cells, but ci/matrix.yaml commits {}; when that is meant, write it there",
                pair.runner, pair.cli, pair.cells
            )))
        })
    }

    fn cell(&self, pair: &CommittedPair, selector: CellSelector) -> Trial {
        let name = format!("{}::{}::{selector}", pair.runner, pair.cli);
        let is_ignored = pair.is_not_applicable(&selector);
        let (matrix, pair) = (self.clone(), pair.clone());
        let run = move || {
            matrix
                .run(&pair, &selector)
                .map_err(|error| Failed::from(error.to_string()))
        };
        Trial::test(name, run).with_ignored_flag(is_ignored)
    }

    fn run(&self, pair: &CommittedPair, selector: &CellSelector) -> Result<(), AnyError> {
        let plan = self.catalogue.plan(selector)?;
        let manifest = Manifest::load(&pair.runner, &self.installation)?;
        let cli_selector: CliSelector = pair.cli.parse()?;
        let cli = cli_selector.find(&self.installation)?;
        let own = ["cli-tap"]
            .into_iter()
            .chain(manifest.own_binary(&self.installation))
            .chain(cli_selector.own_binary());
        let binaries: Vec<PathBuf> = own.map(|name| self.installation.binary(name)).collect();
        Builder::new(&self.installation).check(std::slice::from_ref(&manifest), &binaries)?;
        let settings = CellSettings {
            evidence: self.installation.evidence().join("tests"),
            keep: false,
            timeout_scale: TIMEOUT_SCALE,
            repro_command: "cargo run -p harness -- run".to_owned(),
            repro_options: String::new(),
        };
        let cell = prepare_cell(
            plan,
            &manifest,
            &pair.runner,
            &cli,
            &pair.cli,
            &self.installation,
            &settings,
        )?;
        let execution = Execution {
            executable: self.installation.executable().to_owned(),
            jobs: 1,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let (results, _) = runtime.block_on(execution.run(&[cell], &SilentObserver))?;
        let expected = if pair.is_not_applicable(selector) {
            [Outcome::NotApplicable, Outcome::NotApplicable]
        } else {
            [Outcome::Passed, Outcome::ExpectedFailure]
        };
        match results
            .iter()
            .find(|result| !expected.contains(&result.outcome))
        {
            None => Ok(()),
            Some(result) => Err(findings(result).into()),
        }
    }
}

fn count_name(pair: &CommittedPair) -> String {
    format!("{}::{}::number-of-cells", pair.runner, pair.cli)
}
