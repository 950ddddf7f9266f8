//! Describes the machine that judges.

use super::model::Machine;
use millibox::Backend;

impl Machine {
    /// Returns this machine, with the supervisor's backend.
    pub fn here(backend: Backend) -> Machine {
        let uname = rustix::system::uname();
        let cpuinfo = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        Machine {
            kernel: uname.release().to_string_lossy().into_owned(),
            cpu_model: cpu_model(&cpuinfo),
            cpus: std::thread::available_parallelism().map_or(1, usize::from),
            backend,
        }
    }
}

/// Returns the first CPU's model. The other CPUs usually have the same model. Some architectures
/// report none.
fn cpu_model(cpuinfo: &str) -> Option<String> {
    let mut fields = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    let (_, model) = fields.find(|(name, _)| name.trim_end() == "model name")?;
    let model = model.trim();
    (!model.is_empty()).then(|| model.to_owned())
}

#[cfg(test)]
mod tests {
    use super::cpu_model;

    #[test]
    fn cpu_model_is_that_of_first_cpu() {
        let x86 = "processor\t: 0\nmodel\t\t: 85\nmodel name\t: A CPU @ 2.0GHz\nstepping : \
            7\nmodel name : B\n";
        assert_eq!(cpu_model(x86).as_deref(), Some("A CPU @ 2.0GHz"));
        assert_eq!(cpu_model("processor\t: 0\nBogoMIPS\t: 50.00\n"), None);
        assert_eq!(cpu_model("model name :\n"), None);
    }
}
