//! A version made ready: its machine code and its image. What becomes of it follows from its bytes.

use std::sync::Arc;

use objects_state::guest::{Failure, Rejected};

use crate::code::{Codes, NoCode};
use crate::description::Description;
use crate::dirty::Tracking;
use crate::form::Form;
use crate::instance::{Instance, Recipe};
use crate::limits::IMAGE_RUNS;
use crate::log::Log;
use crate::marks::UnderWay;
use crate::memory::Image;
use crate::module::{Segment, checked, rewrite};
use crate::rejected::rejected;

/// A version that can be run.
pub(crate) struct Prepared {
    pub(crate) recipe: Recipe,
    pub(crate) description: Description,
    pub(crate) image: Arc<Image>,
    /// Registers of the image.
    pub(crate) registers: Vec<u8>,
    /// What has to be equal where another version takes memory over as it is.
    pub(crate) form: Form,
    /// What its source says of itself, if it has one and its runner can tell.
    pub(crate) described: Option<Vec<u8>>,
}

impl Prepared {
    /// Makes a version ready.
    ///
    /// # Errors
    /// It is none that can be run, or there is no code of it for now.
    pub(crate) fn new(
        (module, source): (&[u8], Option<&[u8]>),
        codes: &mut Codes,
        (tracking, log): (Tracking, &Arc<Log>),
        under_way: &UnderWay<'_>,
        is_wanted: &dyn Fn() -> bool,
    ) -> Result<Self, NoCode> {
        let outline = checked(module, source)?;
        let rewritten = rewrite(&outline)?;
        let description = outline.described();
        let bytes_max = usize::try_from(description.memory_bytes).expect("a limit fits");
        let mut recipe = Recipe {
            pre: codes.of(rewritten.module, bytes_max, under_way, is_wanted)?,
            image: None,
            globals: rewritten.globals,
            bytes_max,
            log: log.clone(),
            tracking,
        };
        let mut first = Instance::new(&recipe).map_err(|failure| unprepared(&failure))?;
        fill(&mut first, &rewritten.segments)?;
        let described = first
            .initialize(source, IMAGE_RUNS * description.fuel)
            .map_err(|failure| unprepared(&failure))?;
        let described = Some(described).filter(|described| !described.is_empty());
        let image = Arc::new(Image::new(first.bytes()));
        recipe.image = Some(image.clone());
        let form = Form::of(&mut first, &rewritten.segments);
        Ok(Self { registers: first.registers(), form, recipe, description, image, described })
    }
}

/// Does what the active segments of data ask for.
fn fill(instance: &mut Instance, segments: &[Segment<'_>]) -> Result<(), Rejected> {
    for (index, segment) in segments.iter().enumerate() {
        let start = segment.offset as usize;
        let room = instance.bytes_mut().get_mut(start..start + segment.data.len());
        let room =
            room.ok_or_else(|| rejected(format!("data segment {index} does not fit into the memory")))?;
        room.copy_from_slice(segment.data);
    }
    Ok(())
}

fn unprepared(failure: &Failure) -> Rejected {
    rejected(match failure {
        Failure::Refused { code, detail } => format!("refused its source: {code}: {detail}"),
        Failure::Trapped { detail } | Failure::Broken { detail } => {
            format!("cannot be initialized: {detail}")
        }
        Failure::Deadly { detail } => detail.clone(),
        Failure::OutOfFuel | Failure::Unfinished => "cannot be initialized: its fuel is used up".to_owned(),
        Failure::StackExhausted => "cannot be initialized: its stack is used up".to_owned(),
        Failure::OutOfMemory => "cannot be initialized: it may not have more memory".to_owned(),
    })
}
