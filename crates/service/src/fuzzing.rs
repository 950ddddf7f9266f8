//! The parsers and checks of requests, for the fuzz targets. Nothing here is stable.

pub use crate::config::{LimitValues, LimitsConfig};

pub mod go_judge {
    pub use crate::dialects::go_judge::model::{CommandFile, Group};
    pub use crate::dialects::go_judge::{Pipes, check, decode, request};
}

pub mod judge0 {
    pub use crate::dialects::judge0::{
        Draft, LIMITS, Languages, Limits, Min, Receivers, Rules, archive, encoding,
    };
}

pub mod piston {
    pub use crate::core::catalog::Runtime;
    pub use crate::dialects::piston::model::Job;
    pub use crate::dialects::piston::runtimes::Runtimes;
    pub use crate::dialects::piston::version::{Range, Version};
}

pub mod sandbox_fusion {
    pub use crate::dialects::sandbox_fusion::model::{
        RunCodeRequest, RunJupyterRequest, Surroundings,
    };
    pub use crate::dialects::sandbox_fusion::{Invalid, place};
}

pub mod v1 {
    pub use crate::http::problem::ProblemDetails;
    pub use crate::http::v1::batches;
    pub use crate::http::v1::judgings::JudgingRequest;
    pub use crate::http::v1::model::RunRequest;
    pub use crate::http::v1::request::{check_label, comparison};
}
